import { Option as CommandOption } from 'commander'
import {
  addCommands,
  CommandLine,
  EXIT_CODES,
  processHost,
  type CliHost,
  type CommandFlags,
  type Terminal,
} from '../cli/index.ts'
import type { Option } from './config/option.ts'
import { optionEntries, type OptionName } from './config/options.ts'
import type { FlagValues } from './config/read-texts.ts'
import { addPolicy } from './policy-command.ts'
import { describeVersion } from './version.ts'

/** Everything `reeve` can be told to do. What a command needs is loaded when it runs. */
export async function runCommandLine(
  args: readonly string[],
  host: CliHost = processHost(),
): Promise<number> {
  const line = new CommandLine('reeve', rootText, host)
  addAgent(line, host)
  const groupAt = addCommands(line, host)
  addConfig(line, host)
  addPolicy(line, host, groupAt('policy'))
  addVersion(line, host)
  return await line.run(args)
}

const rootText = {
  summary: 'Reeve says what may run, and runs it.',
  examples: [
    { line: 'reeve agent --dev', says: 'a server and a node in one process, to try things out' },
    { line: 'reeve agent --help', says: 'every flag of the agent' },
  ],
}

function addAgent(line: CommandLine, terminal: Terminal): void {
  const command = line.add(line.root, 'agent', {
    summary: 'Run an agent: a server, a node, or both.',
    details:
      'Settings come from flags, then the environment, then files, then defaults. ' +
      'docs/configuration.md lists them all.',
    examples: [
      {
        line: 'reeve agent --dev',
        says: 'server and node for trying things out, on this machine only',
      },
      {
        line: 'reeve agent --dev --acl --data-dir ./data',
        says: 'the same with tokens, keeping its data',
      },
      { line: 'reeve agent --server --data-dir /var/lib/reeve --bind 10.0.0.1', says: 'a server' },
      {
        line: 'reeve agent --config /etc/reeve.d',
        says: 'what the *.hcl and *.json files there say',
      },
    ],
    action: async (_operands, flags) => {
      const { runAgentCommand } = await import('./agent-command.ts')
      return await runAgentCommand({
        flags: flagValues(flags),
        paths: textsOf(flags['config']),
        terminal,
      })
    },
  })
  command.addOption(
    repeated(
      new CommandOption(
        '--config <PATH>',
        'a file, or a directory with *.hcl and *.json files; may be repeated, later ones win',
      ),
    ),
  )
  for (const [, option] of optionEntries) {
    const flag = toCommandOption(option)
    if (flag !== undefined) command.addOption(flag)
  }
}

function toCommandOption({
  flag,
  kind,
  help,
  byDefault,
}: Option<unknown>): CommandOption | undefined {
  if (flag === undefined) return undefined
  const usage = flag.argument === undefined ? flag.long : `${flag.long} <${flag.argument}>`
  const more = kind.flag === 'repeated' ? '; may be repeated' : ''
  const text = `${help.replace(/\.$/, '')}${more} (default: ${byDefault.text})`
  const option = new CommandOption(usage, text.replaceAll('`', ''))
  return kind.flag === 'repeated' ? repeated(option) : option
}

/** Gathers every use of the flag, where commander would keep the last. */
function repeated(option: CommandOption): CommandOption {
  return option.argParser((text: string, earlier: readonly string[] | undefined) => [
    ...(earlier ?? []),
    text,
  ])
}

function flagValues(flags: CommandFlags): FlagValues {
  const values = new Map<OptionName, true | string | readonly string[]>()
  for (const [name, option] of optionEntries) {
    const given = flags[toCommandOption(option)?.attributeName() ?? '']
    if (given === true || typeof given === 'string') values.set(name, given)
    else if (Array.isArray(given)) values.set(name, textsOf(given))
  }
  return values
}

function textsOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.filter((one) => typeof one === 'string') : []
}

function addConfig(line: CommandLine, terminal: Terminal): void {
  const examples = [
    { line: 'reeve config validate reeve.hcl', says: 'check one file' },
    { line: 'reeve config validate /etc/reeve.d', says: 'check the files of a directory together' },
  ]
  const config = line.add(line.root, 'config', {
    summary: 'Look at configuration files.',
    examples,
  })
  line
    .add(config, 'validate', {
      summary: 'Say whether configuration files are right, and what is wrong with them.',
      examples,
      action: async (paths, flags) => {
        const { validateConfig } = await import('./config-command.ts')
        return await validateConfig({ paths, isJson: flags['json'] === true, terminal })
      },
    })
    .argument('<PATH...>', 'files, or directories with *.hcl and *.json files; later ones win')
    .option('--json', 'answer with one JSON object')
}

function addVersion(line: CommandLine, terminal: Terminal): void {
  line
    .add(line.root, 'version', {
      summary: 'Say which version this is.',
      examples: [{ line: 'reeve version --json', says: 'the same for machines' }],
      action: async (_operands, flags) => {
        terminal.out(`${describeVersion(flags['json'] === true)}\n`)
        return EXIT_CODES.ok
      },
    })
    .option('--json', 'answer with one JSON object')
}
