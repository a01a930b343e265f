/** Manual pages, from the tables of the command line itself. */
import type { CommandSpec } from '../../packages/reeve/src/cli/command.ts'
import { COMMANDS, GROUPS } from '../../packages/reeve/src/cli/commands.ts'
import { LOCAL_COMMANDS } from '../../packages/reeve/src/cli/completion/local-commands.ts'

interface Page {
  readonly name: string
  readonly text: string
}

type Described = Pick<CommandSpec, 'path' | 'summary'> & Partial<CommandSpec>

/** `reeve.1` with all commands in short, and `reeve-job.1` and its like with all about a group. */
export function manualPages(version: string, date: string): Page[] {
  const known = new Set(COMMANDS.map(({ path }) => path))
  const local = LOCAL_COMMANDS.filter(({ path }) => !known.has(path))
  const described: Described[] = [...COMMANDS, ...local]
  const all = described.filter(({ isHidden }) => isHidden !== true)
  const groups = Map.groupBy(all, ({ path }) => path.split(' ')[0] ?? path)
  const names = [...groups.keys()].toSorted()
  const head = (name: string): string =>
    `.TH ${name.toUpperCase()} 1 "${date}" "Reeve ${version}" "Reeve manual"\n`
  const pages = names.map((name) => ({
    name: `reeve-${name}.1`,
    text: `${head(`reeve-${name}`)}${groupText(name, groups.get(name) ?? [])}`,
  }))
  return [{ name: 'reeve.1', text: `${head('reeve')}${rootText(names, groups)}` }, ...pages]
}

function rootText(names: readonly string[], groups: ReadonlyMap<string, Described[]>): string {
  const lines = names.flatMap((name) => [
    `.SS ${escaped(GROUPS[name] ?? groups.get(name)?.[0]?.summary ?? name)}`,
    ...(groups.get(name) ?? []).flatMap(({ path, summary }) => [
      '.TP',
      `.B reeve ${escaped(path)}`,
      escaped(summary),
    ]),
  ])
  return `.SH NAME
reeve \\- workload scheduler and policy service in one program
.SH SYNOPSIS
.B reeve
.I COMMAND
[\\fIARGUMENTS\\fR]
.SH COMMANDS
${lines.join('\n')}
.SH ENVIRONMENT
.TP
.B REEVE_ADDR
Address of the servers, such as https://10.0.0.1:4646.
.TP
.B REEVE_TOKEN
The token that commands show.
.SH FILES
.TP
.B /etc/reeve.d
Configuration of the server and the node agent.
.SH SEE ALSO
${names.map((name) => `.BR reeve-${escaped(name)} (1)`).join(',\n')}
`
}

function groupText(name: string, commands: readonly Described[]): string {
  const summary = GROUPS[name] ?? commands[0]?.summary ?? name
  const body = commands.map((command) => commandText(command)).join('')
  return `.SH NAME
reeve-${escaped(name)} \\- ${escaped(summary)}
.SH COMMANDS
${body}.SH SEE ALSO
.BR reeve (1)
`
}

function commandText({ path, summary, details, args = [], flags = [], examples = [] }: Described) {
  const usage = [...args.map((arg) => arg.usage), ...(flags.length > 0 ? ['[FLAGS]'] : [])]
  const described = [...args, ...flags].map(
    (one) => `.TP\n.B ${escaped(one.usage)}\n${escaped(one.help)}\n`,
  )
  const shown = examples.map((one) => `.TP\n.B ${escaped(one.line)}\n${escaped(one.says)}\n`)
  return `.SS reeve ${escaped([path, ...usage].join(' '))}
${escaped(summary)}
${details === undefined ? '' : `.PP\n${escaped(details)}\n`}${described.join('')}${
    shown.length === 0 ? '' : `.PP\nExamples:\n${shown.join('')}`
  }`
}

/** As roff wants it: its own signs are text here, and a dot at the beginning is no request. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replace(/^\./gm, '\\&.')
}
