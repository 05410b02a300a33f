// Runs the script of the form without a page: fields as JSON lines come in, prompt and problems go out.
const fs = require("node:fs"), vm = require("node:vm");
const script = fs.readFileSync(process.argv[2], "utf8").match(/<script>([\s\S]*?)<\/script>/)[1];
const page = vm.createContext({});
vm.runInContext(`${script}\nthis.buildPrompt = buildPrompt; this.problemsOf = problemsOf;`, page);
const output = fs.readFileSync(0, "utf8").split("\n").filter(line => line).map(line => {
  const fields = JSON.parse(line);
  return JSON.stringify({ prompt: page.buildPrompt(fields), problems: page.problemsOf(fields) });
});
console.log(output.join("\n"));
