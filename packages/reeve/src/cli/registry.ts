import type { Client } from '@reeve/sdk'
import { Option } from 'commander'
import { createCliClient } from './client.ts'
import type { CommandFlags, CommandLine } from './command-line.ts'
import type { CommandSpec, FlagSpec, CommandContext, Transport } from './command.ts'
import { CONNECTION_FLAGS, helpFlags } from './global-flags.ts'
import { COMMANDS, GROUPS } from './commands.ts'
import { EXIT_CODES, UsageError } from './errors.ts'
import { Flags } from './flags.ts'
import type { CliHost } from './host.ts'
import { Output, renderJson, type Render } from './output/output.ts'
import { choosePaint } from './output/color.ts'
import { readDevTokens, readLogin } from './settings/login-file.ts'
import { connectionSettings, type ConnectionSettings, readTlsOptions } from './settings/settings.ts'

type CommandGroup = CommandLine['root']

const FOOTER = 'Run "reeve options" for the flags that all commands accept.'

/**
 * Registers the commands that the typed words can match. Returns a function that finds the group of
 * a path, for commands that other modules register.
 */
export function registerCommands(
  line: CommandLine,
  host: CliHost,
  typed: readonly string[],
): (path: string) => CommandGroup {
  // Groups that are also commands, such as `agent`, are registered already.
  const present = line.root.commands.map((command) => [command.name(), command] as const)
  const groups = new Map<string, CommandGroup>([['', line.root], ...present])
  const findOrAddGroup = (path: readonly string[]): CommandGroup => {
    const key = path.join(' ')
    const known = groups.get(key)
    if (known !== undefined) return known
    const group = line.add(findOrAddGroup(path.slice(0, -1)), path.at(-1) ?? '', groupHelp(key))
    groups.set(key, group)
    return group
  }
  for (const spec of matchingCommands(typed)) {
    const words = spec.path.split(' ')
    const command = line.add(findOrAddGroup(words.slice(0, -1)), words.at(-1) ?? '', {
      ...spec,
      ...(isShortcut(spec.path) && { helpGroup: 'Everyday commands:' }),
      footer: FOOTER,
      action: (args, flags) => runCommand(spec, host, { args, flags }),
    })
    for (const { usage, help } of spec.args ?? []) command.argument(usage, help)
    for (const flag of helpFlags(spec)) command.addOption(toOption(flag))
    addConnectionFlags(command)
    if (spec.passThroughArgs === true) command.passThroughOptions()
  }
  return (path) => findOrAddGroup(path.split(' '))
}

/** Whether the path is an alias without a group, such as `logs`, for frequent use. */
function isShortcut(path: string): boolean {
  return !path.includes(' ') && COMMANDS.some(({ aliases = [] }) => aliases.includes(path))
}

/**
 * Returns the commands that match the first word, or all if none does. Building all 200 commands
 * takes longer than running most of them.
 */
function matchingCommands([first = '']: readonly string[]): readonly CommandSpec[] {
  const all = [...COMMANDS.flatMap(withAliases), ...completionCommands]
  const named = all.filter(({ path }) => path === first || path.startsWith(`${first} `))
  return named.length === 0 ? all : named
}

/** A command under its own path and under each of its aliases. */
function withAliases(spec: CommandSpec): readonly CommandSpec[] {
  const aliases = (spec.aliases ?? []).map((path) => ({
    ...spec,
    path,
    summary: `${spec.summary} Same as "${spec.path}".`,
    examples: spec.examples.map(({ line, says }) => ({
      line: line.replace(`reeve ${spec.path}`, `reeve ${path}`),
      says,
    })),
  }))
  return [spec, ...aliases]
}

function groupHelp(path: string) {
  const members = COMMANDS.filter((spec) => spec.path.startsWith(`${path} `))
  const examples = members.flatMap((spec) => spec.examples.slice(0, 1)).slice(0, 4)
  return { summary: GROUPS[path] ?? path, examples }
}

function toOption({ usage, help, isRepeated }: FlagSpec): Option {
  if (isRepeated !== true) return new Option(usage, help)
  return new Option(usage, `${help}; may be repeated`).argParser(
    (text: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), text],
  )
}

/** Restores a snapshot through the API of running servers. */
const RESTORE: CommandSpec = {
  path: 'operator snapshot restore',
  summary: 'Restore a snapshot.',
  examples: [],
  load: async () => (await import('./snapshot/snapshot.ts')).runSnapshotRestore,
}

/** The flags that `restoreOnline` needs. */
export function addConnectionFlags(command: CommandGroup): void {
  for (const flag of CONNECTION_FLAGS) command.addOption(toOption(flag).hideHelp())
}

/** Runs `operator snapshot restore` for a command that another module registers. */
export async function restoreOnline(host: CliHost, call: ParsedArguments): Promise<number> {
  return await runCommand(RESTORE, host, call)
}

interface ParsedArguments {
  readonly args: readonly string[]
  readonly flags: CommandFlags
}

async function runCommand(
  spec: CommandSpec,
  host: CliHost,
  call: ParsedArguments,
): Promise<number> {
  const flags = new Flags(call.flags)
  const settings = await resolveSettings(flags, host)
  const interruption = new AbortController()
  const stopListening = host.onInterrupt(() => interruption.abort())
  try {
    const run = await spec.load()
    return await run(
      await createContext({ host, parsed: call, settings, signal: interruption.signal }),
    )
  } catch (thrown) {
    if (interruption.signal.aborted) return EXIT_CODES.interrupted
    const { describeError } = await import('./describe-error.ts')
    const context = { overridesPolicies: flags.has('policy-override') }
    const { exitCode, message, hint } = describeError(thrown, settings, context)
    host.err(`reeve ${spec.path}: ${message}\n${hint === '' ? '' : `${hint}\n`}`)
    return exitCode
  } finally {
    stopListening()
  }
}

/** The server, the token and the namespace of the request. */
async function resolveSettings(flags: Flags, host: CliHost): Promise<ConnectionSettings> {
  const [login, devTokens] = await Promise.all([
    readLogin(host.environment),
    readDevTokens(host.environment),
  ])
  return connectionSettings(flags, host.environment, { login, devTokens })
}

interface ContextOptions {
  readonly host: CliHost
  readonly parsed: ParsedArguments
  readonly settings: ConnectionSettings
  readonly signal: AbortSignal
}

async function createContext(parts: ContextOptions): Promise<CommandContext> {
  const { host, parsed, settings, signal } = parts
  const flags = new Flags(parsed.flags)
  const paint = choosePaint(host.environment, host.isTerminal)
  const output = new Output({ host, paint, render: await selectRenderer(flags) })
  const ways = await createTransport(flags, host)
  const client = await createClientOrUsageError(settings, () =>
    createCliClient(settings, ways, signal),
  )
  return { args: parsed.args, flags, client, settings, transport: ways, output, host, signal }
}

/** Creates the transport from the TLS settings. */
async function createTransport(flags: Flags, host: CliHost): Promise<Transport> {
  const tls = await readTlsOptions(flags, host)
  const { createNodeFetch, withRateLimitRetries } = await import('./node-fetch.ts')
  const fetch = withRateLimitRetries(createNodeFetch(tls))
  if (tls === undefined) return { fetch }
  const { createSecureWebSocket } = await import('./secure-socket.ts')
  return { fetch, openWebSocket: createSecureWebSocket(tls) }
}

/** A malformed address or token is a usage error that names its source. */
async function createClientOrUsageError(
  { sources }: ConnectionSettings,
  create: () => Promise<Client>,
): Promise<Client> {
  try {
    return await create()
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    const { message } = thrown
    const from = message.startsWith('token') ? sources.token : sources.address
    throw new UsageError(`The ${message} (from ${from}).`)
  }
}

async function selectRenderer(flags: Flags): Promise<Render | undefined> {
  const template = flags.string('template')
  if (template === undefined) return flags.has('json') ? renderJson : undefined
  const { createTemplateRenderer } = await import('./output/template.ts')
  return createTemplateRenderer(template)
}

/** Matches arguments that are job files: standard input, a path, or a known suffix. */
const JOB_FILE = /^-$|\/|\.(?:hcl|json|reeve)$/

/**
 * `reeve run web.hcl` is `reeve job run web.hcl`, although `run` is also the group of commands on
 * governance runs.
 */
export function expandRunShorthand(args: readonly string[]): readonly string[] {
  const [first, second = '', ...others] = args
  if (first !== 'run' || second === '') return args
  if (COMMANDS.some(({ path }) => path === `run ${second}`)) return args
  return [second, ...others].some((word) => JOB_FILE.test(word)) ? ['job', ...args] : args
}

export const completionCommands: readonly CommandSpec[] = [
  {
    path: 'completion',
    summary: 'Print a completion script for a shell.',
    examples: [
      { line: 'source <(reeve completion bash)', says: 'in ~/.bashrc' },
      { line: 'source <(reeve completion zsh)', says: 'in ~/.zshrc, after compinit' },
      { line: 'reeve completion fish | source', says: 'in ~/.config/fish/config.fish' },
    ],
    args: [{ usage: '<SHELL>', help: 'bash, zsh or fish' }],
    load: async () => (await import('./completion/completion.ts')).runCompletion,
  },
  {
    path: '__complete',
    summary: 'Complete the last word of a command line; called by completion scripts.',
    examples: [{ line: 'reeve __complete job status we', says: 'jobs whose ID starts with "we"' }],
    args: [{ usage: '[WORDS...]', help: 'the words typed so far, the last one incomplete' }],
    isHidden: true,
    passThroughArgs: true,
    load: async () => (await import('./completion/completion.ts')).runComplete,
  },
]
