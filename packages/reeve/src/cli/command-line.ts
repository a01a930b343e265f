import { Command, CommanderError, Help } from 'commander'
import { EXIT_CODES } from './errors.ts'

/** Where a command writes: its result to `out`, everything else to `err`. */
export interface TextOutput {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** The help of a command, except for its flags. */
interface CommandHelp {
  /** One line, also shown in the list of commands. */
  readonly summary: string
  /** Further sentences below the summary. */
  readonly details?: string
  readonly examples: readonly CommandExample[]
  /** Left out of the list of commands. */
  readonly isHidden?: boolean
  /** The heading under which the list of commands shows it. */
  readonly helpGroup?: string
  /** The last line of the help. */
  readonly footer?: string
}

interface CommandExample {
  readonly line: string
  readonly says: string
}

/** Runs the command and returns its exit code. */
type Action = (operands: readonly string[], flags: CommandFlags) => Promise<number>

/** Values by flag in camel case: `--log-level` is `logLevel`. */
export type CommandFlags = Readonly<Record<string, unknown>>

/** The tree of commands: one form of help, one set of exit codes. */
export class CommandLine {
  readonly root: Command
  readonly #terminal: TextOutput
  #exitCode: number = EXIT_CODES.ok

  constructor(name: string, text: CommandHelp, terminal: TextOutput) {
    this.#terminal = terminal
    this.root = applyHelp(new Command(name), text)
      .exitOverride()
      .configureOutput({
        writeOut: (written) => terminal.out(written),
        writeErr: (written) => terminal.err(written),
        outputError: (message, write) => write(`${name}: ${formatCommanderError(message)}\n`),
      })
      .helpCommand('help [command]', 'show the help of a command')
      .configureHelp({ subcommandTerm: commandTerm })
      // Lets a command pass the flags after its first argument on to what it runs.
      .enablePositionalOptions()
  }

  /** Adds a command below another one; without an action it is a group of commands. */
  add(parent: Command, name: string, text: CommandHelp & { readonly action?: Action }): Command {
    const { action } = text
    const hidden = text.isHidden === true
    const command = applyHelp(parent.command(name, { hidden }), text)
    if (text.helpGroup !== undefined) command.helpGroup(text.helpGroup)
    if (action === undefined) return command
    return command.action(async () => {
      this.#exitCode = await action(command.args, command.opts())
    })
  }

  /** Whether the first word is a command or a flag of this program. */
  isKnown(args: readonly string[]): boolean {
    return findUnknownWord(this.root, args)?.group !== this.root
  }

  async run(args: readonly string[]): Promise<number> {
    const unknown = findUnknownWord(this.root, args)
    if (unknown !== undefined) {
      this.#terminal.err(formatUnknownCommand(unknown))
      return EXIT_CODES.usage
    }
    try {
      await this.root.parseAsync(args, { from: 'user' })
      return this.#exitCode
    } catch (thrown) {
      // The user requested help, or the arguments are invalid: either has been printed already.
      if (!(thrown instanceof CommanderError)) throw thrown
      return thrown.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage
    }
  }
}

interface UnknownWord {
  readonly group: Command
  readonly word: string
}

/**
 * The first word that is no command of its group. The library reports it only without `--help`;
 * with it, it would show the help of the group as if the word were not there.
 */
function findUnknownWord(root: Command, args: readonly string[]): UnknownWord | undefined {
  let group = root
  for (const word of args) {
    const isGroup = group.commands.length > 0 && group.registeredArguments.length === 0
    if (word.startsWith('-') || !isGroup || word === 'help') return undefined
    const next = group.commands.find((command) => command.name() === word)
    if (next === undefined) return { group, word }
    group = next
  }
  return undefined
}

function formatUnknownCommand({ group, word }: UnknownWord): string {
  const path = commandPath(group)
  const names = group.commands.map((command) => command.name())
  const near = suggestCommands(word, names).map((name) => `${path} ${name}`)
  // A command of that very name, as `job inspect` for `inspect`, comes before similar ones.
  const inside = findInCommonGroups(group, word)
  const isFirst = near.length === 0 || inside.some((name) => name.endsWith(` ${word}`))
  const found = [...new Set(isFirst ? [...inside, ...near] : near)].map((name) => `"${name}"`)
  const hint = found.length === 0 ? '' : ` Did you mean ${joinWithOr(found)}?`
  return `reeve: unknown command "${path} ${word}".${hint}\nRun "${path} --help" for a list of commands.\n`
}

/** Groups whose commands a word without a group most likely means, in this order. */
const COMMON_GROUPS = ['job', 'alloc', 'node']

/** The command of a group that has this name or synonym: `job validate` for `validate`. */
function findInCommonGroups(group: Command, word: string): readonly string[] {
  if (group.parent !== null) return []
  for (const name of COMMON_GROUPS) {
    const inside = group.commands.find((command) => command.name() === name)
    const names = inside?.commands.map((command) => command.name()) ?? []
    const first = names.includes(word) ? word : suggestCommands(word, names)[0]
    if (first !== undefined) return [`reeve ${name} ${first}`]
  }
  return []
}

/** `a`, `a or b`, `a, b or c`. */
function joinWithOr(found: readonly string[]): string {
  const last = found.at(-1) ?? ''
  return found.length < 2 ? last : `${found.slice(0, -1).join(', ')} or ${last}`
}

function applyHelp(command: Command, text: CommandHelp): Command {
  const { summary, details, examples, footer } = text
  const lines = examples.map(({ line, says }) => `  ${line}\n      ${says}`)
  const end = footer === undefined ? '' : `\n\n${footer}`
  return command
    .summary(summary)
    .description(details === undefined ? summary : `${summary}\n\n${details}`)
    .helpOption('-h, --help', 'show this help')
    .showHelpAfterError(`Run "${commandPath(command)} --help" for usage.`)
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}${end}`)
}

/** The list of all commands fits a screen without their arguments. */
function commandTerm(command: Command): string {
  const isAtRoot = command.parent?.parent === null
  return isAtRoot ? command.name() : Help.prototype.subcommandTerm(command)
}

function commandPath(command: Command): string {
  const { parent } = command
  return parent === null ? command.name() : `${commandPath(parent)} ${command.name()}`
}

/** `error: unknown option '--dve'⏎(Did you mean --dev?)` in one line. */
function formatCommanderError(message: string): string {
  const [what = '', hint] = message
    .trim()
    .replace(/^error: /, '')
    .split(/\s*\((?=Did you mean )/)
  const sentence = `${what.replace(/\.$/, '')}.`
  return hint === undefined ? sentence : `${sentence} ${hint.replace(/\)$/, '')}`
}

/** Synonyms from other command lines, with our commands. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  show: ['status', 'info', 'inspect', 'read', 'get'],
  get: ['status', 'list', 'info', 'read', 'show'],
  describe: ['status', 'explain', 'info', 'show'],
  view: ['status', 'show', 'info', 'read'],
  info: ['status', 'show', 'inspect'],
  read: ['get', 'show', 'status', 'info'],
  inspect: ['status', 'show', 'info', 'read'],
  list: ['status', 'ls'],
  ls: ['list', 'status'],
  log: ['logs'],
  monitor: ['status', 'watch', 'top'],
  watch: ['status', 'top'],
  ssh: ['exec'],
  shell: ['exec'],
  attach: ['exec'],
  new: ['create', 'init', 'put', 'apply'],
  add: ['create', 'put', 'apply'],
  create: ['apply', 'put', 'init', 'run'],
  make: ['create', 'init'],
  set: ['put', 'update', 'apply'],
  edit: ['update', 'apply'],
  change: ['update', 'apply'],
  apply: ['run', 'put'],
  deploy: ['run'],
  submit: ['run'],
  up: ['run', 'start'],
  launch: ['run', 'start', 'dispatch'],
  rollback: ['revert'],
  undo: ['revert'],
  verify: ['validate', 'check'],
  lint: ['validate', 'check'],
  format: ['fmt'],
  remove: ['delete', 'purge', 'stop'],
  rm: ['delete', 'purge', 'stop'],
  del: ['delete', 'purge', 'stop'],
  delete: ['purge', 'stop'],
  purge: ['stop', 'delete'],
  destroy: ['delete', 'stop'],
  terminate: ['stop'],
  kill: ['stop'],
  download: ['cp', 'fs'],
  copy: ['cp'],
  whoami: ['self'],
  config: ['get-config'],
  // Nouns at the root.
  jobs: ['job'],
  pods: ['alloc'],
  pod: ['alloc'],
  allocs: ['alloc'],
  allocation: ['alloc'],
  allocations: ['alloc'],
  nodes: ['node'],
  evals: ['eval'],
  evaluation: ['eval'],
  deployments: ['deployment'],
  ns: ['namespace'],
  namespaces: ['namespace'],
  variable: ['var'],
  variables: ['var'],
  secret: ['var'],
  services: ['service'],
  events: ['event'],
  organization: ['org'],
  organizations: ['org'],
  projects: ['project'],
  workspaces: ['workspace'],
  policies: ['policy'],
  metrics: ['top', 'operator'],
}

/** Commands whose effect is hard or impossible to undo. */
const DESTRUCTIVE: ReadonlySet<string> = new Set([
  'accept-loss',
  'cancel',
  'delete',
  'discard',
  'drain',
  'fail',
  'force-leave',
  'gc',
  'purge',
  'remove-user',
  'restore',
  'revoke',
  'rotate-shared',
  'signal',
  'stop',
])

const SUGGESTIONS_MAX = 3

/**
 * The commands that a mistyped word most likely means, the likeliest first. A destructive command
 * is suggested only for a synonym of its own name or a single typing error in it: who types `show`
 * must never be offered `stop`.
 */
export function suggestCommands(input: string, names: readonly string[]): readonly string[] {
  const word = input.toLowerCase()
  const synonyms = (SYNONYMS[word] ?? []).filter((name) => names.includes(name))
  const similar = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ name, distance }) => distance <= maxDistance(word, name))
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name)
  const longer = word.length < 3 ? [] : names.filter((name) => name.startsWith(word))
  const nonDestructive = longer.filter((name) => !DESTRUCTIVE.has(name))
  return [...new Set([...synonyms, ...similar, ...nonDestructive])].slice(0, SUGGESTIONS_MAX)
}

/** One error in four letters, two in seven; in destructive commands one at most. */
function maxDistance(typed: string, name: string): number {
  if (DESTRUCTIVE.has(name)) return 1
  return Math.floor((Math.min(typed.length, name.length) + 1) / 4)
}

/** Insertions, deletions, substitutions and swaps of neighbours between two words. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const isEqual = a[row - 1] === b[column - 1]
      const isSwap = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isEqual ? 0 : 1),
        isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = current
  }
  return last[b.length] ?? 0
}
