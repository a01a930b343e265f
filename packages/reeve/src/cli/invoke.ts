import type { Client } from '@reeve/sdk'
import { Option } from 'commander'
import { connectClient } from './client.ts'
import type { CommandFlags, CommandLine } from './command-line.ts'
import type { CommandSpec, FlagSpec, Invocation, Ways } from './command.ts'
import { CONNECTION_FLAGS, listedFlagsOf } from './command-flags.ts'
import { COMMANDS, GROUPS } from './commands.ts'
import { completionCommands } from './completion/commands.ts'
import { EXIT_CODES } from './exit-code.ts'
import { UsageError } from './failure.ts'
import { Flags } from './flags.ts'
import type { CliHost } from './host.ts'
import { Output, renderJson, type Render } from './output/output.ts'
import { choosePaint } from './output/style.ts'
import { readDevTokens } from './settings/dev-tokens.ts'
import { readLogin } from './settings/login-file.ts'
import { connectionSettings, type ConnectionSettings } from './settings/settings.ts'
import { tlsSettings } from './settings/tls-settings.ts'

type Node = CommandLine['root']

const FOOTER = 'Run "reeve options" for the flags that all commands accept.'

/**
 * Adds the commands that talk to a server, as far as the typed words can lead to them. Returns a
 * function that finds the group of a path, for commands that are added by others.
 */
export function addCommands(
  line: CommandLine,
  host: CliHost,
  typed: readonly string[],
): (path: string) => Node {
  // Groups that are commands themselves, such as `agent`, are there already.
  const present = line.root.commands.map((command) => [command.name(), command] as const)
  const groups = new Map<string, Node>([['', line.root], ...present])
  const groupAt = (path: readonly string[]): Node => {
    const key = path.join(' ')
    const known = groups.get(key)
    if (known !== undefined) return known
    const made = line.add(groupAt(path.slice(0, -1)), path.at(-1) ?? '', groupText(key))
    groups.set(key, made)
    return made
  }
  for (const spec of reachable(typed)) {
    const words = spec.path.split(' ')
    const command = line.add(groupAt(words.slice(0, -1)), words.at(-1) ?? '', {
      ...spec,
      ...(isEveryday(spec.path) && { helpGroup: 'Everyday commands:' }),
      footer: FOOTER,
      action: (args, flags) => invoke(spec, host, { args, flags }),
    })
    for (const { usage, help } of spec.args ?? []) command.argument(usage, help)
    for (const flag of listedFlagsOf(spec)) command.addOption(toOption(flag))
    for (const flag of CONNECTION_FLAGS) command.addOption(toOption(flag).hideHelp())
    if (spec.passesRest === true) command.passThroughOptions()
  }
  return (path) => groupAt(path.split(' '))
}

/** Aliases at the root, such as `logs`: what is typed many times a day. */
function isEveryday(path: string): boolean {
  return !path.includes(' ') && COMMANDS.some(({ aliases = [] }) => aliases.includes(path))
}

/**
 * The commands that begin with the first typed word; all of them if there are none. Building the
 * other two hundred with their flags would take as long as many a command does.
 */
function reachable([first = '']: readonly string[]): readonly CommandSpec[] {
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

function groupText(path: string) {
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

interface Call {
  readonly args: readonly string[]
  readonly flags: CommandFlags
}

async function invoke(spec: CommandSpec, host: CliHost, call: Call): Promise<number> {
  const flags = new Flags(call.flags)
  const settings = await settingsOf(flags, host)
  const interruption = new AbortController()
  const stopListening = host.onInterrupt(() => interruption.abort())
  try {
    const run = await spec.load()
    return await run(await invocationOf({ host, call, settings, signal: interruption.signal }))
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
async function settingsOf(flags: Flags, host: CliHost): Promise<ConnectionSettings> {
  const [login, devTokens] = await Promise.all([
    readLogin(host.environment),
    readDevTokens(host.environment),
  ])
  return connectionSettings(flags, host.environment, { login, devTokens })
}

interface InvocationParts {
  readonly host: CliHost
  readonly call: Call
  readonly settings: ConnectionSettings
  readonly signal: AbortSignal
}

async function invocationOf(parts: InvocationParts): Promise<Invocation> {
  const { host, call, settings, signal } = parts
  const flags = new Flags(call.flags)
  const paint = choosePaint(host.environment, host.isTerminal)
  const output = new Output({ host, paint, render: await renderOf(flags) })
  const ways = await waysOf(flags, host)
  const client = await clientOf(settings, () => connectClient(settings, ways, signal))
  return { args: call.args, flags, client, settings, ways, output, host, signal }
}

/** How servers are reached. */
async function waysOf(flags: Flags, host: CliHost): Promise<Ways> {
  const tls = await tlsSettings(flags, host)
  const { nodeFetch } = await import('./node-fetch.ts')
  if (tls === undefined) return { fetch: nodeFetch() }
  const { secureSocket } = await import('./secure-socket.ts')
  return { fetch: nodeFetch(tls), openSocket: secureSocket(tls) }
}

/** A malformed address or token is a usage error that names its source. */
async function clientOf(
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

async function renderOf(flags: Flags): Promise<Render | undefined> {
  const template = flags.text('template')
  if (template === undefined) return flags.has('json') ? renderJson : undefined
  const { templateRender } = await import('./output/template.ts')
  return templateRender(template)
}
