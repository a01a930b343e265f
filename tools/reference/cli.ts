import { processHost, type CommandLine } from '../../packages/reeve/src/cli/index.ts'
import { buildCommandLine } from '../../packages/reeve/src/main/commands.ts'
import { code, fence, page, sentence, table, withPart, type Pages } from './page.ts'

const FOLDER = 'docs/reference/cli'
export const CLI_INDEX = `${FOLDER}/README.md`

type Command = CommandLine['root']

/** A command without further commands below it. */
interface LeafCommand {
  /** `job run`. */
  readonly path: string
  readonly command: Command
}

interface Flag {
  readonly usage: string
  readonly help: string
}

/** Flags that this share of all commands takes are described once, in the index page. */
const COMMON_FLAG_SHARE = 0.5

/**
 * One page for each first word of the commands, and the list of all commands in the index page:
 * whatever the command line offers when the pages are generated.
 */
export async function cliPages(index: string): Promise<Pages> {
  // Only with `agent` among the arguments its flags are there.
  const line = await buildCommandLine(['help', 'agent'], processHost())
  const leaves = leafCommands(line.root, '')
  const common = commonFlags(leaves)
  const groups = Map.groupBy(leaves, ({ path }) => path.split(' ')[0] ?? '')
  const pages = new Map(
    [...groups].map(([name, members]) => {
      const group = line.root.commands.find((command) => command.name() === name)
      return [`${FOLDER}/${name}.md`, groupPage(name, members, { group, common })] as const
    }),
  )
  const withList = withPart(index, 'commands', commandList(groups))
  return pages.set(CLI_INDEX, withPart(withList, 'common flags', flagTable(common)))
}

function leafCommands(command: Command, path: string): readonly LeafCommand[] {
  const visible = command.createHelp().visibleCommands(command)
  const inner = visible.filter((one) => one.name() !== 'help')
  const below = inner.flatMap((one) =>
    leafCommands(one, path === '' ? one.name() : `${path} ${one.name()}`),
  )
  // Groups have no flags, except those that are commands themselves, such as `agent`.
  const isCommand = path !== '' && (below.length === 0 || command.options.length > 0)
  return isCommand ? [{ path, command }, ...below] : below
}

function flagsOf(command: Command): readonly Flag[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ flags, description }) => ({ usage: flags, help: description }))
}

function commonFlags(leaves: readonly LeafCommand[]): readonly Flag[] {
  const all = leaves.flatMap(({ command }) => flagsOf(command))
  const counts = Map.groupBy(all, ({ usage, help }) => `${usage} ${help}`)
  return [...counts.values()].flatMap(([flag, ...others]) =>
    flag !== undefined &&
    !isOutputFlag(flag) &&
    others.length + 1 >= leaves.length * COMMON_FLAG_SHARE
      ? [flag]
      : [],
  )
}

/** Flags of commands that print data, described with each of them. */
function isOutputFlag({ usage }: Flag): boolean {
  return /--(?:json|template)\b/.test(usage)
}

interface GroupContext {
  readonly group: Command | undefined
  readonly common: readonly Flag[]
}

function groupPage(
  name: string,
  leaves: readonly LeafCommand[],
  { group, common }: GroupContext,
): string {
  const isGroup = leaves.some(({ path }) => path !== name)
  const summary = isGroup && group !== undefined ? sentence(group.summary()) : ''
  const parts = leaves.flatMap((leaf) => commandSection(leaf, common))
  return page(code(`reeve ${name}`), [
    summary,
    'Flags that most commands take are described under [common flags](README.md#common-flags).',
    ...parts,
  ])
}

function commandSection(
  { path, command }: LeafCommand,
  common: readonly Flag[],
): readonly string[] {
  const own = flagsOf(command).filter(
    ({ usage, help }) => !common.some((flag) => flag.usage === usage && flag.help === help),
  )
  const operands = command.registeredArguments.map((one) => [
    code(one.name()),
    one.required ? 'required' : 'optional',
    sentence(one.description),
  ])
  const examples = examplesOf(command)
  return [
    `## ${path}`,
    ...paragraphs(command.description()),
    fence('text', `reeve ${path} ${usageOf(command)}`.trim()),
    table(['Argument', '', 'Description'], operands),
    flagTable(own),
    ...(examples.length === 0 ? [] : ['Examples:', fence('shell', examples.join('\n'))]),
  ]
}

function paragraphs(text: string): readonly string[] {
  return text.split('\n\n').map((part) => sentence(withoutMarkup(part.replaceAll('\n', ' '))))
}

/** Words in angle brackets and with asterisks would be markup. */
function withoutMarkup(text: string): string {
  return text.replaceAll(/(?<![`\w])([\w/.-]*(?:<[\w-]+>|\*)[\w/.*-]*)/g, '`$1`')
}

function usageOf(command: Command): string {
  const words = command.registeredArguments.map((one) => {
    const word = `${one.name()}${one.variadic ? '…' : ''}`
    return one.required ? word : `[${word}]`
  })
  return ['[flags]', ...words].join(' ')
}

function flagTable(flags: readonly Flag[]): string {
  return table(
    ['Flag', 'Description'],
    flags.map(({ usage, help }) => [code(usage), sentence(withoutMarkup(help))]),
  )
}

/** The examples that the help of a command ends with: the line, and below it what it does. */
function examplesOf(command: Command): readonly string[] {
  const written: string[] = []
  command.configureOutput({ writeOut: (text) => written.push(text) }).outputHelp()
  const [, text = ''] = written.join('').split('Examples:\n')
  // A blank line ends the examples; what follows is for readers of the help.
  const [examples = ''] = text.split('\n\n')
  const lines = examples.split('\n').filter((line) => line.trim() !== '')
  return lines.flatMap((line, i) => {
    if (/^ {6}/.test(line)) return []
    const says = lines[i + 1]?.trim() ?? ''
    return [`# ${says}`, line.trim()]
  })
}

function commandList(groups: ReadonlyMap<string, readonly LeafCommand[]>): string {
  const rows = [...groups].flatMap(([name, leaves]) =>
    leaves.map(({ path, command }) => [
      `[\`${path}\`](${name}.md#${path.replaceAll(' ', '-')})`,
      sentence(command.summary()),
    ]),
  )
  return table(['Command', 'Description'], rows)
}
