import { Command, CommanderError } from 'commander'
import { EXIT_CODES } from './exit-code.ts'

/** Where a command writes: what was asked for to `out`, everything else to `err`. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** What the help of a command says beside its flags. */
interface CommandText {
  /** One line, also in the list of commands. */
  readonly summary: string
  /** More sentences about it. */
  readonly details?: string
  readonly examples: readonly CommandExample[]
  /** Left out of the list of commands. */
  readonly isHidden?: boolean
}

interface CommandExample {
  readonly line: string
  readonly says: string
}

/** Does what the command is for and gives the exit code. */
type Action = (operands: readonly string[], flags: CommandFlags) => Promise<number>

/** Values by flag in camel case: `--log-level` is `logLevel`. */
export type CommandFlags = Readonly<Record<string, unknown>>

/** A tree of commands that explain themselves in one way, and end with one set of exit codes. */
export class CommandLine {
  readonly root: Command
  #code: number = EXIT_CODES.ok

  constructor(name: string, text: CommandText, terminal: Terminal) {
    this.root = describe(new Command(name), text)
      .exitOverride()
      .configureOutput({
        writeOut: (written) => terminal.out(written),
        writeErr: (written) => terminal.err(written),
        outputError: (message, write) => write(`${name}: ${toSentence(message)}\n`),
      })
      .helpCommand('help [command]', 'show the help of a command')
      // So that a command may leave the flags after its first argument to what it runs.
      .enablePositionalOptions()
  }

  /** A command below another; without an action it only holds further ones. */
  add(parent: Command, name: string, text: CommandText & { readonly action?: Action }): Command {
    const { action } = text
    const hidden = text.isHidden === true
    const command = describe(parent.command(name, { hidden }), text)
    if (action === undefined) return command
    return command.action(async () => {
      this.#code = await action(command.args, command.opts())
    })
  }

  async run(args: readonly string[]): Promise<number> {
    try {
      await this.root.parseAsync(understood(this.root, args), { from: 'user' })
      return this.#code
    } catch (thrown) {
      // Help was asked for, or the arguments were not understood; either has been written already.
      if (!(thrown instanceof CommanderError)) throw thrown
      return thrown.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage
    }
  }
}

/**
 * Without the wish for help where a word leads nowhere: the library would show the help of the
 * words before it, as if that were what there is to say.
 */
function understood(root: Command, args: readonly string[]): readonly string[] {
  let at = root
  for (const word of args) {
    const isFlag = word.startsWith('-')
    const leadsOn = at.commands.length > 0 && at.registeredArguments.length === 0
    if (isFlag || !leadsOn || word === 'help') return args
    const next = at.commands.find((command) => command.name() === word)
    if (next === undefined) return args.filter((one) => one !== '--help' && one !== '-h')
    at = next
  }
  return args
}

function describe(command: Command, { summary, details, examples }: CommandText): Command {
  const lines = examples.map(({ line, says }) => `  ${line}\n      ${says}`)
  return command
    .summary(summary)
    .description(details === undefined ? summary : `${summary}\n\n${details}`)
    .helpOption('-h, --help', 'show this help')
    .showHelpAfterError(`Run "${pathOf(command)} --help" to see what there is.`)
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

function pathOf(command: Command): string {
  const { parent } = command
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`
}

/** `error: unknown option '--dve'⏎(Did you mean --dev?)` in one line. */
function toSentence(message: string): string {
  const [what = '', hint] = message
    .trim()
    .replace(/^error: /, '')
    .split(/\s*\((?=Did you mean )/)
  const sentence = `${what.replace(/\.$/, '')}.`
  return hint === undefined ? sentence : `${sentence} ${hint.replace(/\)$/, '')}`
}
