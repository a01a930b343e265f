import { Command, CommanderError } from 'commander'
import { EXIT_CODES } from './exit-code.ts'
import { suggestCommands } from './suggest.ts'

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
