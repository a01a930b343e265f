import {
  registerCommands,
  COMMANDS,
  CommandLine,
  EXIT_CODES,
  expandRunShorthand,
  findPlugin,
  formatGlobalFlags,
  processHost,
  runPlugin,
  type CliHost,
  type TextOutput,
} from '../cli/index.ts'
import { addDevCluster } from './dev-cluster/dev-cluster-command.ts'
import { addOperator, addStorage } from './operator-command.ts'
import { addPolicy } from './policy-command.ts'
import { addRunPhase } from './run-phase-command.ts'
import { addRestore } from './restore-command.ts'
import { describeVersion } from './version.ts'

/** Runs a command line and returns its exit code. */
export async function runCommandLine(
  typed: readonly string[],
  host: CliHost = processHost(),
): Promise<number> {
  const args = expandRunShorthand(typed)
  const line = await buildCommandLine(args, host)
  const plugin = line.isKnown(args) ? undefined : await findPlugin(args, host.environment)
  if (plugin !== undefined) return await runPlugin(plugin, host)
  return await line.run(args)
}

/**
 * Builds the command tree. Handlers are loaded when a command runs; the flags of `agent` are added
 * only if the arguments start the agent.
 */
export async function buildCommandLine(
  args: readonly string[],
  host: CliHost,
): Promise<CommandLine> {
  const line = new CommandLine('reeve', rootText, host)
  // These flags import the configuration language, which no other command needs.
  const agentFlags = startsAgent(args) ? await import('./agent-flags.ts') : undefined
  addAgent(line, host, agentFlags?.addAgentFlags)
  addDevCluster(line, host)
  const groupAt = registerCommands(line, host, args)
  addConfig(line, host)
  addPolicy(line, host, groupAt('policy'))
  addRestore(line, host, groupAt('operator snapshot'))
  addOperator(line, host, groupAt('operator'))
  addRunPhase(line, host)
  addStorage(line, host, groupAt('operator'))
  addOptions(line, host)
  addVersion(line, host)
  return line
}

/** Whether the arguments start an agent; subcommands such as `agent monitor` use a running one. */
function startsAgent(args: readonly string[]): boolean {
  const at = args.indexOf('agent')
  return at !== -1 && !COMMANDS.some(({ path }) => path === `agent ${args[at + 1] ?? ''}`)
}

const rootText = {
  summary: 'Reeve decides what may run, and runs it.',
  examples: [
    { line: 'reeve agent --dev', says: 'start a server and a node in one process' },
    { line: 'reeve job init', says: 'write an example job file' },
    { line: 'reeve run example.hcl', says: 'run it and watch the deployment' },
    { line: 'reeve job run --help', says: 'show the flags and examples of a command' },
  ],
}

type AddAgentFlags = (command: CommandLine['root']) => void

function addAgent(line: CommandLine, terminal: TextOutput, addFlags?: AddAgentFlags): void {
  const command = line.add(line.root, 'agent', {
    summary: 'Run an agent: a server, a node, or both.',
    details:
      'Flags take precedence over the environment, the environment over files, files over ' +
      'defaults. docs/reference/configuration.md lists all settings.',
    examples: [
      {
        line: 'reeve agent --dev',
        says: 'a server and a node for development, reachable from this machine only',
      },
      {
        line: 'reeve agent --dev --acl --data-dir ./data',
        says: 'the same with ACLs enabled and persistent data',
      },
      { line: 'reeve agent --server --data-dir /var/lib/reeve --bind 10.0.0.1', says: 'a server' },
      {
        line: 'reeve agent --config /etc/reeve.d',
        says: 'settings from the *.hcl and *.json files of a directory',
      },
    ],
    action: async (_operands, given) => {
      const { readFlagValues, stringsOf } = await import('./agent-flags.ts')
      const { runAgentCommand } = await import('./agent-command.ts')
      return await runAgentCommand({
        flags: readFlagValues(given),
        paths: stringsOf(given['config']),
        terminal,
      })
    },
  })
  addFlags?.(command)
}

function addConfig(line: CommandLine, terminal: TextOutput): void {
  const examples = [
    { line: 'reeve config validate reeve.hcl', says: 'check one file' },
    { line: 'reeve config validate /etc/reeve.d', says: 'check the files of a directory together' },
  ]
  const config = line.add(line.root, 'config', {
    summary: 'Work with configuration files.',
    examples,
  })
  line
    .add(config, 'validate', {
      summary: 'Validate configuration files.',
      examples,
      action: async (paths, flags) => {
        const { validateConfig } = await import('./config-command.ts')
        return await validateConfig({ paths, isJson: flags['json'] === true, terminal })
      },
    })
    .argument(
      '<PATH...>',
      'files, or directories of *.hcl and *.json files; later ones take precedence',
    )
    .option('--json', 'print JSON')
}

function addOptions(line: CommandLine, terminal: TextOutput): void {
  line.add(line.root, 'options', {
    summary: 'List the flags that all commands accept.',
    examples: [{ line: 'reeve options', says: 'flags for the server, the token and TLS' }],
    action: async () => {
      terminal.out(formatGlobalFlags())
      return EXIT_CODES.ok
    },
  })
}

function addVersion(line: CommandLine, terminal: TextOutput): void {
  line
    .add(line.root, 'version', {
      summary: 'Print the version.',
      examples: [{ line: 'reeve version --json', says: 'as JSON' }],
      action: async (_operands, flags) => {
        terminal.out(`${describeVersion(flags['json'] === true)}\n`)
        return EXIT_CODES.ok
      },
    })
    .option('--json', 'print JSON')
}
