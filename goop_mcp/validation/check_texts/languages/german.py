"""German words of test talk and what they mean in the words of the English runners."""

from typing import Final

__all__ = ["WORDS"]

WORDS: Final = {
    "passed": "bestanden | bestand | bestehen | erfolgreich | gingen durch | liefen durch"
    " | durchgelaufen | laufen durch | durchgegangen | geklappt | erfolgreich durchlaufen"
    " | erfolgreich bestanden",
    "ok": "in ordnung | funktioniert | funktionieren | fehlerfrei",
    "green": "grün | gruen",
    "failed": "fehlgeschlagen[,e,er,es,en] | schlugen fehl | schlug fehl | schlagen fehl"
    " | schlagen noch fehl | schlagen weiterhin fehl | schlagen immer noch fehl | schlägt fehl"
    " | gescheitert[,e,er,es,en] | scheitern | scheiterten | nicht bestanden[,e,en]"
    " | durchgefallen | nicht erfolgreich | sind rot | fehlerhaft beendet | rot"
    " | laufen nicht durch | läuft nicht durch | nicht durchgelaufen | brechen ab"
    " | nicht erfolgreiche | nicht erfolgreichen | fehlgeschlagene tests | nicht durchgegangen"
    " | misslungen | fielen durch | durchgefallene | endeten mit fehler | bricht ab | kaputt",
    "failures": "fehlschläge | fehlschlägen",
    "failure": "fehlschlag",
    "errors": "fehler | fehlern",
    "skipped": "übersprungen[,e,en] | ausgelassen | ignoriert | übersprungenen",
    "test": "test",
    "tests": "tests | testfälle | testfällen | testfall | szenarien | einzeltests | systemtests"
    " | e2e-tests | regressionstests | smoke-tests | testszenarien | akzeptanztests",
    "unit tests": "unit-tests | unittests | modultests",
    "integration tests": "integrationstests",
    "checks": "checks | prüfungen",
    "files": "dateien",
    "test run": "testlauf | testläufe | lauf | durchlauf",
    "output": "ergebnis | testergebnis",
    "total": "insgesamt | gesamt | zusammen",
    "of": "von | der",
    "of them": "davon",
    "all": "alle | sämtliche | allen | sämtlichen | jeder | jede",
    "the": "die | den | dem",
    "and": "und | sowie",
    "but": "aber | jedoch",
    "with": "mit",
    "in": "im | in",
    "for": "bei | für",
    "due to": "wegen | aufgrund",
    "because": "weil | da",
    "are": "sind | leider | lokal | hier | bisher | bislang | aktuell | derzeit | heute | diesmal"
    " | nur | genau | also | im moment | momentan | vorerst",
    "were": "wurden | waren | gab es | es gab",
    "have": "haben | es gibt | gibt es",
    "is": "ist | wird",
    "was": "wurde | war",
    "still": "noch | weiterhin | nach wie vor | immer noch | bleibt | bleiben | verbleiben"
    " | es bleibt | es gibt noch | gibt es noch",
    "found": "gefunden | fand",
    "other": "andere | weitere | übrige | übrigen | restlichen",
    "one test": "ein test | 1 test",
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "no": "kein | keine | keiner | keinen | null",
    "no failed": "nichts fehlgeschlagen | ohne fehlschlag | ohne fehlschläge",
    "no errors": "ohne fehler | keine fehler | fehlerlos | keine probleme | keine beanstandungen",
    "fixed": "behoben | gefixt | repariert | korrigiert | gelöst | beseitigt | behebt | behob"
    " | korrigierte | repariere | behobene | behobenen | ausgebessert | bereinigt | ausgeräumt"
    " | erledigt | gelöste",
    "expected": "erwartet | erwartete | erwarteten | beabsichtigt | gewollt | absichtlich",
    "as expected": "wie erwartet | wie gewollt | so gewollt | wie beabsichtigt",
    "previously": "vorher | zuvor | früher | anfangs | ursprünglich | zunächst | zuerst | davor"
    " | vor der korrektur | vor dem fix | vor der änderung",
    "now -": "jetzt | nun | danach | inzwischen | mittlerweile | anschließend | schließlich"
    " | nach der korrektur | nach dem fix | nach der änderung",
    "exit code": "exit-code | exitcode | rückgabewert | rückgabecode | beendet mit code"
    " | exit-status",
    "not run": "nicht ausgeführt | nicht gelaufen | nicht gestartet | noch nicht ausgeführt"
    " | noch nicht gelaufen | nicht durchgeführt | nie ausgeführt | nicht laufen lassen"
    " | habe ich nicht ausgeführt | nicht angestoßen | nicht laufen gelassen"
    " | nicht mehr ausgeführt | nicht starten | nicht ausführen | nicht anstarten"
    " | noch nicht gestartet | nicht angelaufen | nicht gelaufen sind | nicht absolviert"
    " | wurde übergangen | gar nicht ausgeführt | gar nicht gelaufen | nicht einmal ausgeführt"
    " | noch kein lauf | kein testlauf | nicht laufen",
    "not yet run": "steht noch aus | stehen noch aus | ist noch offen | sind noch offen"
    " | noch offen | ausstehend | fehlt noch | fehlen noch | noch zu erledigen | noch zu machen"
    " | offen geblieben | muss noch laufen | müssen noch laufen",
    "could not run": "konnte nicht ausgeführt werden | konnten nicht ausgeführt werden"
    " | konnte nicht gestartet werden | konnten nicht gestartet werden | nicht ausführbar"
    " | konnte nicht laufen | konnten nicht laufen | lässt sich nicht ausführen"
    " | ließ sich nicht ausführen | ließen sich nicht ausführen | lassen sich nicht ausführen"
    " | konnte ich nicht ausführen | kann nicht ausgeführt werden | nicht lauffähig"
    " | startet nicht | starten nicht | ließ sich nicht starten | ließen sich nicht starten"
    " | kann ich nicht ausführen | nicht zum laufen gebracht | ausführung nicht möglich"
    " | ausführung war nicht möglich | nicht möglich auszuführen | tests nicht möglich"
    " | testausführung nicht möglich | kann nicht laufen | können nicht laufen"
    " | können nicht ausgeführt werden | konnte nicht getestet werden"
    " | konnten nicht getestet werden | konnte nicht geprüft werden | nicht startbar",
    "no tests found": "keine tests gefunden | keine tests vorhanden | es gibt keine tests"
    " | nichts zu testen | keine tests | keine testfälle | keine prüfungen"
    " | es existieren keine tests | tests fehlen | tests fehlen noch | keine testsuite"
    " | keine unit-tests | test fehlt | keine tests geschrieben | hat keine tests"
    " | gibt keine tests | kein test vorhanden | keine tests verfügbar | kein test verfügbar",
    "no tests ran": "keine tests ausgeführt | kein test ausgeführt | keine tests gelaufen"
    " | keine tests durchgeführt | kein test gelaufen",
    "nothing ran": "nichts ausgeführt | nichts gelaufen",
    "timed out": "abgelaufene zeit | zeitüberschreitung | wegen zeitüberschreitung abgebrochen"
    " | zeitüberschreitung nach"
    " | zeit abgelaufen | in einen timeout gelaufen | lief in einen timeout"
    " | liefen in einen timeout | timeout erreicht | timeout überschritten"
    " | abgebrochen wegen timeout | wegen timeout abgebrochen | zeitlimit überschritten",
    "should pass": "sollte bestehen | sollten bestehen | sollte durchlaufen | sollten durchlaufen"
    " | sollte funktionieren | sollten funktionieren | müsste bestehen | müssten bestehen"
    " | müsste funktionieren | dürfte bestehen | dürften bestehen | sollte klappen"
    " | müsste klappen | sollte passen | sollten grün sein | sollte grün sein | sollte laufen"
    " | sollten laufen | sollte gehen | sollte ok sein | sollte in ordnung sein | sollte stimmen"
    " | sollte alles funktionieren | sollten klappen | müsste laufen | müsste gehen"
    " | müsste passen | dürfte funktionieren | dürfte laufen | dürfte klappen | wird schon passen"
    " | wird bestehen | werden bestehen | sollten durchgehen | sollte durchgehen"
    " | voraussichtlich erfolgreich | wahrscheinlich erfolgreich | vermutlich erfolgreich"
    " | vermutlich ok | wohl erfolgreich | sollte so passen | sollte so funktionieren"
    " | sollte so gehen | sollte alles passen",
    "in theory": "theoretisch",
    "will be run": "wird später ausgeführt | werden später ausgeführt | wird noch ausgeführt"
    " | werden noch ausgeführt | wird nachgeholt | werden nachgeholt | wird in ci ausgeführt"
    " | werden in ci ausgeführt | muss noch ausgeführt werden | müssen noch ausgeführt werden"
    " | noch auszuführen | läuft später | laufen später | läuft in ci | laufen in ci"
    " | läuft in der ci | laufen in der ci | wird später getestet | noch zu testen",
    "will check": "führt sie aus | führt ihn aus | führt das aus | führt die tests aus"
    " | überlassen | wird sie ausführen | wird die tests ausführen | übernimmt das"
    " | übernimmt die tests | testet das | macht das | kümmert sich darum | übernimmt",
    "left to": "überlassen an | überlasse ich | bleibt für | übernimmt später | soll machen",
    "delegated to": "delegiert an | übergeben an | übertragen an",
    "deferred": "verschoben | zurückgestellt | aufgeschoben | vertagt",
    "deferred to": "verschoben auf | zurückgestellt bis",
    "coverage": "abdeckung | testabdeckung | zeilenabdeckung",
    "required": "gefordert | erforderlich | verlangt | benötigt | nötig | soll | vorgabe",
    "threshold": "schwelle | schwellwert | schwellenwert | grenzwert",
    "minimum": "mindestens | mindestwert | minimum",
    "below": "unter | unterhalb",
    "instead of": "statt | anstatt",
    "only": "nur",
    "only a stub": "nur ein stub | nur ein platzhalter | bisher nur ein stub",
    "not yet implemented": "noch nicht implementiert | noch nicht umgesetzt | noch nicht fertig"
    " | nicht fertig geworden",
    "not implemented": "nicht implementiert | nicht umgesetzt",
    "this": "ich | es | das | dies | wir | er | sie | so",
    "fine": "gut | problemlos | einwandfrei",
    "could": "konnte | konnten | kann | können",
    "be": "werden | worden",
    "ran": "ausgeführt | gelaufen | durchgeführt | gestartet | lief | liefen | ausgeführte",
    "untested": "nicht getestet | ungetestet | noch nicht getestet | nicht ausprobiert"
    " | nicht durchgetestet | nicht erprobt | habe ich nicht getestet | nicht selbst getestet"
    " | kein test möglich | testen war nicht möglich",
    "unverified": "nicht geprüft | ungeprüft | noch nicht geprüft | nicht verifiziert"
    " | nicht überprüft | nicht kontrolliert | nicht nachgeprüft | nicht bestätigt",
    "ended": "endete | endeten | endet",
    "reports": "meldet | melden | zeigt",
    "verification": "prüfung | verifikation | überprüfung | abnahme",
    "also": "manuell[e,er,es,en] | automatisch[e,er,es,en] | vollständig[e,er,es,en]",
    "to be run": "folgen später | folgt später | kommen später | kommt später | folgt noch"
    " | folgen noch | wird in der ci ausgeführt | werden in der ci ausgeführt"
    " | wird in der pipeline ausgeführt | werden in der pipeline ausgeführt"
    " | wird von der ci ausgeführt | werden von der ci ausgeführt | wird von ci ausgeführt"
    " | werden von ci ausgeführt | führe ich später aus | hole ich nach | mache ich später"
    " | wird nachgereicht | wird später gemacht | wird später erledigt | wird später durchgeführt"
    " | werden später durchgeführt | wird später geprüft | wird nachträglich geprüft"
    " | wird noch geprüft | wird noch getestet | werden noch getestet | muss noch getestet werden"
    " | müssen noch getestet werden | muss noch geprüft werden | später testen"
    " | laufen später in der ci | teste ich später | im nächsten task | in der nächsten welle"
    " | läuft in der pipeline | laufen in der pipeline | ci prüft das | ci prüft es"
    " | prüft die ci | prüft ci | läuft erst in ci | laufen erst in ci | läuft nur in ci"
    " | laufen nur in ci | läuft erst in der ci | laufen erst in der ci",
    "file": "datei | modul | paket | klasse | ordner | verzeichnis | projekt",
    "one": "einer | eines",
    "except": "bis auf | außer",
    "finished": "beendet | abgeschlossen",
    "typecheck": "typprüfung | typcheck",
    "lint": "linter | lint",
    "build": "build | kompilierung",
    "if": "wenn | falls | sobald | sofern | ohne dass | solange",
    "not yet written": "noch nicht geschrieben | noch nicht erstellt",
    "later": "später | nachher",
    "test suite": "testsuite | test-suite | die suite",
    "": "sekunde[,n] | minute[,n]",
}
