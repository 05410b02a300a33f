"""Portuguese words of test talk and what they mean in the words of the English runners."""

from typing import Final

__all__ = ["WORDS"]

WORDS: Final = {
    "passed": "passaram | passam | passou | aprovad[o,a,os,as] | bem-sucedid[o,a,os,as]"
    " | com sucesso | passando | corret[o,a,os,as] | satisfatóri[o,a,os,as] | ok",
    "ok": "funciona | funcionam | tudo certo",
    "green": "verde[,s]",
    "failed": "falharam | falham | falhou | falhad[o,a,os,as] | falhando | reprovad[o,a,os,as]"
    " | não passaram | não passam | não passou | com falha[,s] | com erro[,s]"
    " | quebrad[o,a,os,as] | não funcionam | não funciona | em vermelho | deram erro | deu erro"
    " | com erros | não satisfatóri[o,a,os,as] | falhavam | falhava | caíram",
    "failures": "falhas",
    "failure": "falha",
    "errors": "erros",
    "error": "erro",
    "skipped": "ignorad[o,a,os,as] | pulad[o,a,os,as] | omitid[o,a,os,as]",
    "test": "teste",
    "tests": "testes | casos | casos de teste | verificações",
    "unit tests": "testes unitários | testes de unidade",
    "integration tests": "testes de integração",
    "files": "arquivos | ficheiros",
    "test run": "execução",
    "output": "resultado | resultados",
    "total": "no total | ao todo",
    "of": "de | dos | das | do | da",
    "of them": "deles | delas | dos quais",
    "all": "todos | todas | todos os | todas as | cada | o conjunto de",
    "the": "o | a | os | as",
    "and": "e",
    "but": "mas | porém",
    "with": "com",
    "in": "em | na | no | por | nos | nas",
    "due to": "por falta de | devido a | por causa de",
    "because": "porque | pois",
    "are": "são | estão | continuam | infelizmente | aqui | localmente | atualmente | apenas | só"
    " | por enquanto | por agora | no momento",
    "were": "foram | houve | foi",
    "have": "têm | há",
    "is": "é | está",
    "still": "ainda | restam | resta | sobrou | sobraram",
    "found": "encontrad[o,a,os,as] | encontrou",
    "other": "outros | outras",
    "two": "dois | duas",
    "three": "três",
    "four": "quatro",
    "five": "cinco",
    "six": "seis",
    "no": "nenhum | nenhuma | zero | sem | não há | não houve",
    "no failed": "nenhum falhou | nenhum teste falhou | nenhuma falha | sem falhas"
    " | não há falhas | não houve falhas | zero falhas",
    "no errors": "sem erros | sem erro | nenhum erro | não há erros | não houve erros"
    " | sem problemas | zero erros",
    "fixed": "corrigid[o,a,os,as] | consertad[o,a,os,as] | resolvid[o,a,os,as] | corrige"
    " | corrigiu | solucionad[o,a,os,as] | corrigindo | corrigir | resolveu | sanad[o,a,os,as]",
    "expected": "esperad[o,a,os,as] | previst[o,a,os,as]",
    "as expected": "como esperado | conforme esperado | como previsto",
    "previously": "antes | anteriormente | previamente | inicialmente | no início | primeiro"
    " | antes da correção",
    "now -": "agora | em seguida | finalmente | após a correção | após a mudança"
    " | após as mudanças | depois da mudança | após a alteração | após as alterações",
    "exit code": "código de saída | código de retorno",
    "not run": "não executad[o,a,os,as] | não foi executad[o,a] | não foram executad[os,as]"
    " | ainda não executad[o,a,os,as] | não executei | não rodei | não rodou | não rodaram"
    " | nunca foi executad[o,a] | sem executar | ainda não foram executad[os,as]"
    " | ainda não foi executad[o,a] | não rodad[o,a,os,as] | não os executei"
    " | não cheguei a executar | não cheguei a rodar | sem rodar | não foi rodad[o,a]"
    " | não foram rodad[os,as] | não foi rodado | não foram lançados | não foi lançado"
    " | não realizad[o,a,os,as] | não foi realizad[o,a] | não foram realizad[os,as]"
    " | não os rodei | não cheguei a testar | não feito | ainda não rodei | ainda não rodaram"
    " | ainda não executei",
    "could not run": "não foi possível executar | não foi possível rodar | não consegui executar"
    " | não consegui rodar | não pôde ser executad[o,a] | não puderam ser executad[os,as]"
    " | impossível executar | não é possível executar | não foi possível iniciar"
    " | não consegui iniciar | não inicia | não iniciam | não pude executar | não pude rodar"
    " | não conseguiu rodar | não puderam rodar | não deu para executar | não deu para rodar"
    " | execução impossível | não pode ser executad[o,a] | não podem ser executad[os,as]"
    " | não posso executar",
    "no tests found": "nenhum teste encontrado | não há testes | nenhum teste disponível"
    " | sem testes | não existem testes | nenhum teste foi encontrado"
    " | não foram encontrados testes | não foi encontrado nenhum teste | nenhum teste"
    " | o projeto não tem testes | não tem testes | faltam testes | ainda não há testes"
    " | não há nenhum teste | não há nenhum teste disponível | não há testes disponíveis",
    "no tests ran": "nenhum teste executado | nenhum teste foi executado | nenhum teste rodou",
    "timed out": "tempo esgotado após | tempo esgotado depois de"
    " | tempo esgotado | tempo limite excedido | tempo limite esgotado"
    " | estourou o tempo | estourou o tempo limite | excedeu o tempo | excedeu o tempo limite"
    " | passou do tempo",
    "should pass": "deve passar | devem passar | deveria passar | deveriam passar"
    " | deve funcionar | deveria funcionar | devem funcionar | deveriam funcionar"
    " | deve estar bem | deve rodar | deveria rodar | passará | passarão | deve dar certo"
    " | deveria estar certo | provavelmente passa[,m]",
    "in theory": "em teoria | teoricamente",
    "will be run": "será executad[o,a] | serão executad[os,as] | será testad[o,a]"
    " | serão testad[os,as] | vai rodar na ci | vão rodar na ci | rodará | rodarão"
    " | falta executar | falta rodar",
    "will check": "executará | vai executar | vai rodar | irá executar | irá rodar"
    " | cuidará disso | fará isso | vai testar | testará | vai executá-los",
    "left to": "deixad[o,a,os,as] para | fica para | ficam para | fica a cargo de"
    " | ficam a cargo de | deixad[o,a,os,as] a cargo de",
    "delegated to": "delegad[o,a,os,as] a | delegad[o,a,os,as] ao | delegad[o,a,os,as] para"
    " | atribuíd[o,a,os,as] a",
    "deferred": "adiad[o,a,os,as] | postergad[o,a,os,as]",
    "deferred to": "adiad[o,a,os,as] para",
    "coverage": "cobertura",
    "required": "exigid[o,a] | requerid[o,a] | necessári[o,a] | obrigatóri[o,a]",
    "threshold": "limiar",
    "minimum": "mínim[o,a] | pelo menos",
    "below": "abaixo de | abaixo do | inferior a",
    "instead of": "em vez de",
    "only a stub": "apenas um stub | só um stub",
    "not yet implemented": "ainda não implementad[o,a,os,as] | ainda não foi implementad[o,a]",
    "not implemented": "não implementad[o,a,os,as] | sem implementar",
    "this": "isso | isto | eu | ele | ela",
    "fine": "bem | sem problema",
    "ran": "executad[o,a,os,as] | realizad[o,a,os,as] | rodad[o,a,os,as] | rodaram | rodou",
    "untested": "não testad[o,a,os,as] | sem testar | ainda não testad[o,a,os,as]"
    " | não foi testad[o,a] | não foram testad[os,as] | sem teste | não testei"
    " | não deu para testar | não consegui testar | não pude testar | não foi possível testar"
    " | não chegou a ser testad[o,a]",
    "unverified": "não verificad[o,a,os,as] | sem verificar | não foi verificad[o,a]"
    " | não foram verificad[os,as] | não conferid[o,a] | não verifiquei | não consegui verificar"
    " | não pude verificar | não foi possível verificar",
    "not yet run": "pendente[,s] | a fazer | por fazer | falta fazer | pendente[,s] de execução"
    " | falta executar | falta rodar | falta testar | falta verificar",
    "reports": "relata | reporta | informa | indica | mostra",
    "verification": "verificação | conferência",
    "also": "manual | manuais | completa | automática[,s]",
    "to be run": "será feito depois | será verificad[o,a] | serão verificad[os,as]"
    " | será rodad[o,a] | serão rodad[os,as] | vai ser executad[o,a] | vão ser executad[os,as]"
    " | será feit[o,a] | serão feit[os,as] | rodam na ci | executados depois | na próxima tarefa"
    " | fica para depois | ficam para depois | será realizad[o,a] | serão realizad[os,as]"
    " | será testad[o,a] depois",
    "file": "arquivo | módulo | pacote | pasta | projeto",
    "typecheck": "verificação de tipos | tipos",
    "lint": "linter | lint",
    "build": "compilação | build",
    "if": "quando | enquanto | caso | se",
    "not yet written": "ainda não escrit[o,a,os,as] | por escrever",
    "later": "mais tarde | depois",
    "test suite": "suíte de testes | a suíte | suíte",
    "": "segundo[,s] | minuto[,s]",
}
