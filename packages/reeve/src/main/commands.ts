import {
  addCommands,
  CommandLine,
  EXIT_CODES,
  processHost,
  type CliHost,
  type Terminal,
} from '../cli/index.ts'
import { addDevCluster } from './dev-cluster/dev-cluster-command.ts'
import { addOperator, addStorage } from './operator-command.ts'
import { addPolicy } from './policy-command.ts'
import { addRunPhase } from './run-phase-command.ts'
import { addRestore } from './restore-command.ts'
import { describeVersion } from './version.ts'

/** Runs one command and returns its exit code. */
export async function runCommandLine(
  args: readonly string[],
  host: CliHost = processHost(),
): Promise<number> {
  const line = await buildCommandLine(args, host)
  return await line.run(args)
}

/**
 * The tree of commands for the arguments that were typed. A command loads what it needs when it
 * runs; only `agent` has its flags here, when it is among the arguments.
 */
export async function buildCommandLine(
  args: readonly string[],
  host: CliHost,
): Promise<CommandLine> {
  const line = new CommandLine('reeve', rootText, host)
  // The flags of the agent come with the language of its files, which no other command waits for.
  const agentFlags = args.includes('agent') ? await import('./agent-flags.ts') : undefined
  addAgent(line, host, agentFlags?.addAgentFlags)
  addDevCluster(line, host)
  const groupAt = addCommands(line, host, args)
  addConfig(line, host)
  addPolicy(line, host, groupAt('policy'))
  addRestore(line, host, groupAt('operator snapshot'))
  addOperator(line, host, groupAt('operator'))
  addRunPhase(line, host)
  addStorage(line, host, groupAt('operator'))
  addVersion(line, host)
  return line
}

const rootText = {
  summary: 'Reeve says what may run, and runs it.',
  examples: [
    { line: 'reeve agent --dev', says: 'a server and a node in one process, to try things out' },
    { line: 'reeve job init', says: 'write a first job file' },
    { line: 'reeve job run example.hcl', says: 'run it, and watch until it does' },
    { line: 'reeve job run --help', says: 'what a command does, its flags and examples' },
  ],
}

type AddAgentFlags = (command: CommandLine['root']) => void

function addAgent(line: CommandLine, terminal: Terminal, addFlags?: AddAgentFlags): void {
  const command = line.add(line.root, 'agent', {
    summary: 'Run an agent: a server, a node, or both.',
    details:
      'Settings come from flags, then the environment, then files, then defaults. ' +
      'docs/reference/configuration.md lists them all.',
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
    action: async (_operands, given) => {
      const { flagValues, textsOf } = await import('./agent-flags.ts')
      const { runAgentCommand } = await import('./agent-command.ts')
      return await runAgentCommand({
        flags: flagValues(given),
        paths: textsOf(given['config']),
        terminal,
      })
    },
  })
  addFlags?.(command)
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
