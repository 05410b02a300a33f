"""French words of test talk and what they mean in the words of the English runners."""

from typing import Final

__all__ = ["WORDS"]

WORDS: Final = {
    "passed": "réussi[,e,s,es] | réussissent | ont réussi | a réussi | passé[,e,s,es] | passent"
    " | passe | ont passé | passait | passaient | avec succès | validé[,e,s,es] | réussite[,s]"
    " | réussite | concluant[,s,e,es] | ok",
    "ok": "fonctionne | fonctionnent | tout est bon",
    "green": "au vert | vert[,e,s,es]",
    "failed": "échoué[,e,s,es] | échouent | échoue | ont échoué | a échoué | en échec"
    " | non réussi[,e,s,es] | n'a échoué | n'ont échoué | n'échoue | ne passent pas"
    " | ne passe pas | n'ont pas réussi | n'a pas réussi | n'est pas passé | ne sont pas passés"
    " | cassé[,e,s,es] | en rouge | plantent | plante | non concluant | raté[,e,s,es] | ont raté"
    " | sont tombés | tombent en échec | tombe en échec | échouant",
    "failures": "échecs | défaillances",
    "failure": "échec",
    "errors": "erreurs | erreur",
    "skipped": "ignoré[,e,s,es] | sauté[,e,s,es] | omis | passés outre",
    "test": "test",
    "tests": "tests | essais | cas de test | cas",
    "unit tests": "tests unitaires | test unitaire",
    "integration tests": "tests d'intégration",
    "checks": "vérifications",
    "files": "fichiers",
    "test run": "exécution | lancement",
    "output": "résultat | résultats",
    "total": "au total | en tout",
    "of": "sur | de | des | tests sur | test sur | du",
    "of them": "dont",
    "all": "tous | tout | toutes | tous les | toutes les | chaque | l'ensemble des",
    "the": "le | la | les | l'",
    "and": "et",
    "but": "mais",
    "with": "avec",
    "in": "dans | en | sous | par",
    "due to": "à cause de | à cause d' | faute de | faute d' | en raison de",
    "because": "car | parce que | parce qu'",
    "are": "sont | malheureusement | ici | localement | actuellement | seulement | en local"
    " | pour l'instant | pour le moment | à l'heure actuelle",
    "were": "étaient | il y a eu | n'a été | n'ont été | a été | ont été",
    "have": "ont | il y a | il reste",
    "is": "est",
    "still": "encore | toujours | reste | restent",
    "found": "trouvé[,e,s,es]",
    "other": "autres",
    "two": "deux",
    "three": "trois",
    "four": "quatre",
    "five": "cinq",
    "six": "six",
    "no": "aucun | aucune | zéro | pas d' | pas de",
    "no failed": "aucun échec | aucun test échoué | aucun n'a échoué | aucun test n'a échoué"
    " | sans échec | zéro échec",
    "no errors": "sans erreur[,s] | aucune erreur | pas d'erreur[,s] | sans problème"
    " | aucun problème",
    "fixed": "corrigé[,e,s,es] | réparé[,e,s,es] | résolu[,e,s,es] | corrige | répare"
    " | corrigeant | réglé[,e,s,es] | corriger | traité[,e,s,es]",
    "expected": "attendu[,e,s,es] | voulu[,e,s,es] | prévu[,e,s,es]",
    "as expected": "comme prévu | comme attendu | c'est voulu",
    "previously": "avant | auparavant | précédemment | initialement | au départ | au début"
    " | d'abord | avant la correction | avant correction",
    "now -": "maintenant | désormais | ensuite | puis | à présent | après la correction"
    " | après correction | finalement | après la modification | après les modifications"
    " | après le changement | à ce jour",
    "exit code": "code de sortie | code de retour",
    "not run": "non exécuté[,e,s,es] | pas exécuté[,e,s,es] | pas encore exécuté[,e,s,es]"
    " | n'a pas été exécuté[,e] | n'ont pas été exécuté[s,es] | n'a pas été lancé[,e]"
    " | n'ont pas été lancé[s,es] | pas lancé[,e,s,es] | non lancé[,e,s,es]"
    " | jamais exécuté[,e,s,es] | je n'ai pas lancé | je n'ai pas exécuté | n'ont pas tourné"
    " | n'a pas tourné | pas encore lancé[,e,s,es] | n'ont pas encore été exécuté[s,es]"
    " | n'a pas encore été exécuté[,e] | n'ont pas encore été lancé[s,es]"
    " | n'a pas encore été lancé[,e] | n'ont pas été effectué[s,es] | n'a pas été effectué[,e]"
    " | pas effectué[,e,s,es] | non effectué[,e,s,es] | je ne les ai pas lancés"
    " | je ne les ai pas exécutés | pas tourné | pas fait | pas encore fait"
    " | ne les ai pas lancés | aucune exécution",
    "could not run": "impossible d'exécuter | impossible de lancer | impossible à lancer"
    " | n'a pas pu être exécuté[,e] | n'ont pas pu être exécuté[s,es] | n'a pas pu être lancé[,e]"
    " | n'ont pas pu être lancé[s,es] | je n'ai pas pu exécuter | je n'ai pas pu lancer"
    " | impossible à exécuter | n'ont pas pu tourner | ne peut pas être exécuté[,e]"
    " | je n'ai pas réussi à exécuter | je n'ai pas réussi à lancer | je n'arrive pas à lancer"
    " | ne démarre pas | ne démarrent pas | ne se lancent pas | impossible de faire tourner"
    " | ne peuvent pas être exécuté[s,es] | ne peuvent pas être lancé[s,es]"
    " | n'ont pas pu démarrer",
    "no tests found": "aucun test trouvé | aucun test n'a été trouvé | aucun test disponible"
    " | il n'y a pas de tests | pas de tests | aucun test n'existe | aucun test présent"
    " | pas de test | aucun test à exécuter | il n'existe pas de tests | il n'existe aucun test"
    " | pas encore de tests | aucun test écrit | le projet n'a pas de tests | n'a pas de tests"
    " | tests absents | aucune suite de tests | pas de test disponible | pas de tests disponibles"
    " | pas de test prévu",
    "no tests ran": "aucun test exécuté | aucun test lancé | aucun test n'a été exécuté"
    " | aucun test n'a été lancé | aucun test n'a tourné",
    "timed out": "délai dépassé après | délai dépassé au bout de"
    " | délai dépassé | délai d'attente dépassé | temps dépassé | a dépassé le délai"
    " | ont dépassé le délai | interrompu par le délai | expiré avant la fin"
    " | n'a pas abouti dans le délai",
    "should pass": "devrait passer | devraient passer | devrait fonctionner"
    " | devraient fonctionner | devrait réussir | devraient réussir | devrait marcher"
    " | devrait être bon | devrait aller | devraient aller | devrait être ok | devraient marcher"
    " | devrait tourner | devraient tourner | devrait être correct | ça devrait aller"
    " | devrait suffire | doit passer | doivent passer | passera | passeront | devrait être vert"
    " | devraient être verts | probablement réussi[,s] | sans doute réussi[,s]",
    "in theory": "en théorie | théoriquement",
    "will be run": "sera exécuté[,e] | seront exécuté[s,es] | sera lancé[,e] | seront lancé[s,es]"
    " | à exécuter | à lancer | reste à exécuter | restent à exécuter | à tester plus tard"
    " | tournera en ci | tourneront en ci | sera testé[,e] | seront testé[s,es] | reste à tester",
    "will check": "exécutera | lancera | les exécutera | les lancera | s'en chargera"
    " | va les lancer | va les exécuter | s'en occupera | s'en occupe | le fera | les testera"
    " | testera | va tester",
    "left to": "laissé[,e,s,es] à | laissé[,e,s,es] au | réservé[,e,s,es] à",
    "delegated to": "délégué[,e,s,es] à | confié[,e,s,es] à | transmis à",
    "deferred": "reporté[,e,s,es] | différé[,e,s,es] | remis à plus tard",
    "deferred to": "reporté[,e,s,es] à",
    "coverage": "couverture",
    "required": "requis | requise | exigé[,e] | demandé[,e] | nécessaire | exigence",
    "threshold": "seuil",
    "minimum": "minimum | au moins | minimal[,e]",
    "below": "sous le | en dessous de | en dessous du | inférieur[,e] à",
    "instead of": "au lieu de",
    "only a stub": "seulement un stub | juste un stub | qu'un stub",
    "not yet implemented": "pas encore implémenté[,e,s,es] | pas encore terminé[,e,s,es]",
    "not implemented": "non implémenté[,e,s,es] | pas implémenté[,e,s,es]",
    "this": "ça | cela | ceci | ce | c' | je | j' | on | nous | il | elle",
    "fine": "bien | sans souci",
    "ran": "exécuté[,e,s,es] | lancé[,e,s,es] | effectué[,e,s,es] | tourné",
    "untested": "non testé[,e,s,es] | pas testé[,e,s,es] | pas encore testé[,e,s,es]"
    " | jamais testé[,e,s,es] | n'a pas été testé[,e] | n'ont pas été testé[s,es]"
    " | je ne l'ai pas testé | je n'ai pas testé | non testable | pas pu tester"
    " | je n'ai pas pu tester | impossible de tester | n'a pas pu être testé[,e]"
    " | n'ont pas pu être testé[s,es]",
    "unverified": "non vérifié[,e,s,es] | pas vérifié[,e,s,es] | pas encore vérifié[,e,s,es]"
    " | n'a pas été vérifié[,e] | n'ont pas été vérifié[s,es] | je n'ai pas vérifié"
    " | je ne l'ai pas vérifié | pas pu vérifier | je n'ai pas pu vérifier"
    " | impossible de vérifier",
    "not yet run": "en attente | à faire | reste à faire | restent à faire | reste à vérifier",
    "reports": "signale | signalent | rapporte | indique",
    "verification": "vérification",
    "also": "manuelle[,s] | manuel[,s] | complète | automatique[,s]",
    "to be run": "sera fait plus tard | suivront | à venir | tournera dans la ci"
    " | tourneront dans la ci | sera exécuté[,e] dans la ci | sera lancé[,e] dans la ci"
    " | sera vérifié[,e] | seront vérifié[s,es] | sera fait[,e] plus tard | sera effectué[,e]"
    " | seront effectué[s,es] | seront fait[s,es] plus tard | à faire plus tard"
    " | fera l'objet d'un test | tourneront plus tard | tournera plus tard"
    " | sera vérifié[,e] plus tard | dans la prochaine tâche | ci s'en charge | passera en ci"
    " | passeront en ci | ne tournera qu'en ci | ne tourneront qu'en ci"
    " | sera exécuté[,e] uniquement en ci",
    "file": "fichier | module | paquet | dossier | projet",
    "typecheck": "typage | vérification des types",
    "lint": "linter | lint",
    "build": "compilation | build",
    "if": "si | quand | lorsque | lorsqu' | dès que | tant que | s'",
    "not yet written": "pas encore écrit[,e,s,es]",
    "later": "plus tard | ultérieurement",
    "test suite": "suite de tests | la suite",
    "": "seconde[,s] | minute[,s]",
}
