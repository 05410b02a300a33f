"""Spanish words of test talk and what they mean in the words of the English runners."""

from typing import Final

__all__ = ["WORDS"]

WORDS: Final = {
    "passed": "pasaron | pasan | pasó | pasado[,s] | pasada[,s] | aprobad[o,a,os,as]"
    " | superad[o,a,os,as] | exitos[o,a,os,as] | con éxito | correct[o,a,os,as] | han pasado"
    " | satisfactori[o,a,os,as] | ok | en orden",
    "ok": "funciona | funcionan | todo bien",
    "green": "en verde | verde[,s]",
    "failed": "fallaron | fallan | falló | fallid[o,a,os,as] | fallad[o,a,os,as] | fallando"
    " | han fallado | fracasaron | fracasó | no pasaron | no pasan | no pasó"
    " | no superad[o,a,os,as] | no aprobad[o,a,os,as] | con error | con errores | no funcionan"
    " | no funciona | rot[o,a,os,as] | en rojo | dieron error | dio error | con fallos"
    " | con fallo | rechazadas por fallo | no satisfactori[o,a,os,as] | se cayeron | fallidos"
    " | fallaban | fallaba | no exitos[o,a,os,as]",
    "failures": "fallos | fallas",
    "failure": "fallo | falla",
    "errors": "errores",
    "error": "error",
    "skipped": "omitid[o,a,os,as] | saltad[o,a,os,as] | ignorad[o,a,os,as]",
    "test": "prueba",
    "tests": "pruebas | tests | casos | casos de prueba | comprobaciones",
    "unit tests": "pruebas unitarias | tests unitarios",
    "integration tests": "pruebas de integración",
    "files": "archivos | ficheros",
    "test run": "ejecución",
    "output": "resultado | resultados",
    "total": "en total | total",
    "of": "de | de las | de los | del",
    "of them": "de ellas | de ellos",
    "all": "todas | todos | todas las | todos los | cada | el conjunto de",
    "the": "el | la | las | los",
    "and": "y",
    "but": "pero",
    "with": "con",
    "in": "en | por",
    "due to": "por falta de | debido a | a causa de",
    "because": "porque | ya que",
    "are": "son | están | siguen | lamentablemente | aquí | localmente | actualmente | solo"
    " | sólo | en local | de momento | por ahora | por el momento",
    "were": "fueron | hubo | fue",
    "have": "han | hay",
    "is": "es | está",
    "still": "quedan | aún | todavía | sigue | queda | sigue habiendo",
    "found": "encontrad[o,a,os,as] | encontró",
    "other": "otras | otros",
    "two": "dos",
    "three": "tres",
    "four": "cuatro",
    "five": "cinco",
    "six": "seis",
    "no": "ningún | ninguna | ninguno | cero | sin | no hay | no hubo",
    "no failed": "ninguna falló | ninguno falló | ninguna prueba falló | ningún test falló"
    " | ninguna fallida | ningún fallo | sin fallos | sin fallas | no hay fallos | no hubo fallos"
    " | no falló ninguna | no falló ninguno | cero fallos",
    "no errors": "sin errores | sin error | ningún error | no hay errores | no hubo errores"
    " | sin problemas | cero errores",
    "fixed": "corregid[o,a,os,as] | arreglad[o,a,os,as] | solucionad[o,a,os,as]"
    " | resuelt[o,a,os,as] | corrige | corrigió | arregla | reparad[o,a,os,as] | corrigiendo"
    " | corregir | resolvió | subsanad[o,a,os,as]",
    "expected": "esperad[o,a,os,as] | previst[o,a,os,as]",
    "as expected": "como se esperaba | según lo esperado | como estaba previsto",
    "previously": "antes | anteriormente | previamente | inicialmente | al principio | primero"
    " | antes de la corrección | antes del arreglo",
    "now -": "ahora | luego | finalmente | tras la corrección | tras el arreglo | tras el cambio"
    " | tras los cambios | después del cambio | después de los cambios | después de corregir",
    "exit code": "código de salida | código de retorno",
    "not run": "no ejecutad[o,a,os,as] | no se ejecutó | no se ejecutaron | no se ha ejecutado"
    " | no se han ejecutado | sin ejecutar | aún no ejecutad[o,a,os,as] | no ejecuté"
    " | todavía no se han ejecutado | nunca se ejecutó | nunca se ejecutaron | no se corrieron"
    " | no corrí | no se corrió | no fueron ejecutad[os,as] | no fue ejecutad[o,a]"
    " | no los ejecuté | no las ejecuté | no llegué a ejecutar | no se llegó a ejecutar"
    " | no se llegaron a ejecutar | sin correr | no se lanzaron | no se lanzó"
    " | aún no se han ejecutado | todavía no se ejecutaron | aún no se ejecutaron"
    " | no se han lanzado | no se han corrido | no las he ejecutado | no los he ejecutado"
    " | no he ejecutado | no realizad[o,a,os,as] | no se realizó | no se realizaron"
    " | no se han realizado | no lanzad[o,a,os,as] | no hecho",
    "could not run": "no se pudo ejecutar | no se pudieron ejecutar | no pude ejecutar"
    " | no fue posible ejecutar | imposible ejecutar | no se puede ejecutar"
    " | no se pueden ejecutar | no pudo ejecutarse | no pudieron ejecutarse"
    " | no ha sido posible ejecutar | no he podido ejecutar | no logré ejecutar"
    " | no conseguí ejecutar | no pude correr | no pude lanzar | no arranca | no arrancan"
    " | no se pudieron lanzar | no se pudo lanzar | no se pudo iniciar | no se pudieron iniciar"
    " | no he podido lanzar | no se lograron ejecutar | no se logró ejecutar"
    " | ejecución imposible | no es posible ejecutar | no se ha podido ejecutar"
    " | no se han podido ejecutar | no se ha podido lanzar | no puedo ejecutar",
    "no tests found": "no se encontraron pruebas | no se encontraron tests | no hay pruebas"
    " | no hay tests | sin pruebas | no existen pruebas | no se encontró ninguna prueba"
    " | no se encontró ningún test | no se ha encontrado ninguna prueba"
    " | no se han encontrado pruebas | ninguna prueba encontrada | ningún test encontrado"
    " | ninguna prueba | el proyecto no tiene pruebas | no tiene pruebas | no tiene tests"
    " | no existen tests | faltan pruebas | sin tests | aún no hay pruebas"
    " | todavía no hay pruebas | no hay ninguna prueba | no hay ninguna prueba disponible"
    " | no hay pruebas disponibles | ninguna prueba disponible",
    "no tests ran": "no se ejecutó ninguna prueba | no se ejecutó ningún test"
    " | ninguna prueba ejecutada | ningún test ejecutado | ninguna prueba se ejecutó"
    " | ningún test se ejecutó",
    "timed out": "tiempo agotado tras | tiempo agotado después de"
    " | tiempo de espera agotado | tiempo agotado | se agotó el tiempo"
    " | superó el tiempo límite | superaron el tiempo límite | expiró el tiempo"
    " | se pasó del tiempo | terminó por tiempo",
    "should pass": "debería pasar | deberían pasar | debería funcionar | deberían funcionar"
    " | debe pasar | deben pasar | debería andar | debería estar bien | deberían estar bien"
    " | debería servir | pasará | pasarán | debería correr | debería estar en verde"
    " | debería bastar | probablemente pase[,n] | seguramente pase[,n]",
    "in theory": "en teoría | teóricamente",
    "will be run": "se ejecutará | se ejecutarán | será ejecutad[o,a] | serán ejecutad[os,as]"
    " | por ejecutar | se probará | se probarán | falta ejecutar | se correrá | se correrán"
    " | por probar",
    "will check": "ejecutará | las ejecutará | los ejecutará | lo ejecutará | la ejecutará"
    " | se encargará | correrá | se encargará de eso | lo hará | las correrá | lo probará"
    " | las probará",
    "left to": "dejad[o,a,os,as] a | dejad[o,a,os,as] para | queda para | quedan para",
    "delegated to": "delegad[o,a,os,as] a | delegad[o,a,os,as] en | asignad[o,a,os,as] a",
    "deferred": "aplazad[o,a,os,as] | pospuest[o,a,os,as] | diferid[o,a,os,as]",
    "deferred to": "aplazad[o,a,os,as] a | pospuest[o,a,os,as] para",
    "coverage": "cobertura",
    "required": "requerid[o,a] | exigid[o,a] | necesari[o,a] | se requiere | se exige",
    "threshold": "umbral",
    "minimum": "mínim[o,a] | al menos",
    "below": "por debajo de | por debajo del | inferior a",
    "instead of": "en lugar de | en vez de",
    "only a stub": "solo un stub | sólo un stub",
    "not yet implemented": "aún no implementad[o,a,os,as] | todavía no implementad[o,a,os,as]"
    " | aún no está implementad[o,a]",
    "not implemented": "no implementad[o,a,os,as] | sin implementar",
    "this": "esto | eso | yo | lo | ello",
    "fine": "bien | sin problema",
    "ran": "ejecutad[o,a,os,as] | realizad[o,a,os,as] | corrid[o,a,os,as] | se ejecutaron"
    " | se ejecutó | lanzad[o,a,os,as]",
    "untested": "no probad[o,a,os,as] | sin probar | no se probó | no se ha probado"
    " | no se han probado | no se probaron | no lo probé | no lo he probado | no la he probado"
    " | no he probado | no se pudo probar | no pude probar | no se han podido probar"
    " | no fue probad[o,a] | sin testear | no testead[o,a,os,as]",
    "unverified": "no verificad[o,a,os,as] | sin verificar | no comprobad[o,a,os,as]"
    " | sin comprobar | no se verificó | no se ha verificado | no se comprobó"
    " | no se ha comprobado | no lo he verificado | no pude verificar | no se pudo verificar",
    "not yet run": "pendiente[,s] | por hacer | falta por hacer | queda por hacer"
    " | pendiente[,s] de ejecutar | pendiente[,s] de ejecución | pendiente[,s] de probar"
    " | pendiente[,s] de verificar",
    "reports": "reporta | informa | indica | muestra",
    "verification": "verificación | comprobación",
    "also": "manual[,es] | completa | automática[,s]",
    "to be run": "se hará más tarde | se hará después | se verificará | se verificarán"
    " | se ejecutará más tarde | se ejecutarán más tarde | se hará | se harán | se realizará"
    " | se realizarán | se comprobará | se comprobarán | en la siguiente tarea"
    " | en la próxima tarea | queda para después | para más tarde | corren en la ci"
    " | se ejecutan en la ci | se ejecutan en ci",
    "file": "archivo | fichero | módulo | paquete | carpeta | proyecto",
    "typecheck": "comprobación de tipos | tipos",
    "lint": "linter | lint",
    "build": "compilación | build",
    "if": "si | cuando | mientras | en caso de",
    "not yet written": "aún no escrit[o,a,os,as] | todavía no escrit[o,a,os,as] | sin escribir",
    "later": "más tarde | después",
    "test suite": "suite de pruebas | la suite | la batería",
    "": "segundo[,s] | minuto[,s]",
}
