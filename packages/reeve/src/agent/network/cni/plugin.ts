import { readdir } from 'node:fs/promises'
import { isIPv4, isIPv6 } from 'node:net'
import { join } from 'node:path'
import { Type, type Static, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import type { TaskPort } from '../../driver.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import { runProgram } from '../../run-program.ts'
import { Semaphore } from '../../timing.ts'
import type { AllocationNetwork } from '../allocation-network.ts'
import { PROTOCOLS } from '../firewall.ts'
import {
  CNI_MODE_PREFIX,
  findPluginProgram,
  isExecutable,
  type NetworkConfig,
  type PluginConfig,
} from './network-config.ts'

export type PluginCommand = 'ADD' | 'DEL'

/** Data of an allocation that all its plug-in calls share, from ADD to DEL. */
export interface Attachment {
  readonly network: NetworkConfig
  readonly args: Readonly<Record<string, string>>
  readonly ports: readonly TaskPort[]
}

/** One call of one plug-in. */
export interface PluginCall {
  readonly command: PluginCommand
  readonly plugin: PluginConfig
  readonly attachment: Attachment
  readonly allocationId: string
  /** Empty where the namespace is gone. */
  readonly namespacePath: string
  /** Directories that are searched for plug-ins. */
  readonly directories: readonly string[]
  /** In ADD the result of the previous plug-in, in DEL that of the last. */
  readonly prevResult: PluginResult | undefined
}

/** The environment of a call: all that a plug-in receives besides its settings. */
export function pluginEnvironment(call: PluginCall): Record<string, string> {
  // Plug-ins must not reject arguments that are meant for others.
  const args = { IgnoreUnknown: 'true', ...call.attachment.args }
  return {
    CNI_COMMAND: call.command,
    CNI_CONTAINERID: call.allocationId,
    CNI_NETNS: call.namespacePath,
    CNI_IFNAME: INTERFACE_NAME,
    CNI_ARGS: Object.entries(args)
      .map(([name, value]) => `${name}=${value}`)
      .join(';'),
    CNI_PATH: call.directories.join(':'),
  }
}

/**
 * Standard input of a plug-in: its settings from the file, name and version of the network, the
 * previous result, and the runtime configuration that its `capabilities` request.
 */
export function pluginInput({ plugin, attachment, prevResult }: PluginCall): string {
  const { network, ports } = attachment
  const { capabilities = {}, ...settings } = plugin
  const mapsPorts = capabilities['portMappings'] === true && ports.length > 0
  return JSON.stringify({
    ...settings,
    name: network.name,
    cniVersion: network.cniVersion,
    runtimeConfig: mapsPorts ? { portMappings: portMappings(ports) } : undefined,
    prevResult,
  })
}

function portMappings(ports: readonly TaskPort[]): readonly object[] {
  return ports.flatMap(({ hostIp, hostPort, to }) =>
    PROTOCOLS.map((protocol) => ({
      hostPort,
      containerPort: to > 0 ? to : hostPort,
      protocol,
      ...(hostIp === '' ? {} : { hostIP: hostIp }),
    })),
  )
}

/** Whether DEL accepts a result; plug-ins of earlier versions do not. */
export function supportsPrevResultInDelete({ cniVersion }: NetworkConfig): boolean {
  return !cniVersion.startsWith('0.3.')
}

/** Runs a plug-in and returns its output; Fault `network` with the message of the plug-in. */
export async function runPlugin(call: PluginCall): Promise<string> {
  const program = await findPluginProgram(call.plugin.type, call.directories)
  if (!program.ok) throw pluginFault(call, program.error)
  const env = pluginEnvironment(call)
  const timeoutMs = AGENT_LIMITS.cniPluginTimeoutMs
  const input = pluginInput(call)
  const result = await runProgram(program.value, [], { input, env, timeoutMs })
  if (result.failure === undefined) return result.stdout
  throw pluginFault(call, pluginErrorMessage(result.stdout) ?? (result.stderr || result.failure))
}

export async function runAddPlugin(call: PluginCall): Promise<PluginResult> {
  const result = parsePluginResult(await runPlugin(call))
  if (!result.ok) throw pluginFault(call, result.error)
  return result.value
}

function pluginFault({ command, plugin, attachment }: PluginCall, reason: string): Fault {
  const mode = `${CNI_MODE_PREFIX}${attachment.network.name}`
  return new Fault('network', `${mode}: ${command} of the plug-in "${plugin.type}": ${reason}`)
}

/** The device that the plug-ins create inside. */
const INTERFACE_NAME = 'eth0'

/** Programs of some languages print null for an empty list. */
const nullableListOf = <T extends TSchema>(element: T) =>
  Type.Optional(Type.Union([Type.Null(), Type.Array(element)]))

/** The result of an ADD, in the form of the specification's versions 0.3.0 to 1.1.0. */
const PluginResult = Type.Object({
  interfaces: nullableListOf(
    Type.Object({ name: Type.String(), sandbox: Type.Optional(Type.String()) }),
  ),
  ips: nullableListOf(
    Type.Object({
      /** With the length of its network: `10.1.0.5/16`. */
      address: Type.String(),
      /** Which of `interfaces` has it. */
      interface: Type.Optional(Type.Union([Type.Null(), Type.Integer()])),
    }),
  ),
  dns: Type.Optional(
    Type.Object({
      nameservers: nullableListOf(Type.String()),
      domain: Type.Optional(Type.String()),
      search: nullableListOf(Type.String()),
      options: nullableListOf(Type.String()),
    }),
  ),
})
export type PluginResult = Static<typeof PluginResult>

const resultChecker = Compile(PluginResult)
const errorChecker = Compile(
  Type.Object({
    code: Type.Integer(),
    msg: Type.String(),
    details: Type.Optional(Type.String()),
  }),
)

/** Parses the result. Unknown fields are kept and passed to the next plug-in. */
export function parsePluginResult(text: string): Result<PluginResult, string> {
  const parsed = parseJson(text)
  return resultChecker.Check(parsed) ? ok(parsed) : err('printed no valid result')
}

export function isPluginResult(value: unknown): value is PluginResult {
  return resultChecker.Check(value)
}

/** Error message that a failed plug-in printed; undefined if it printed no error object. */
export function pluginErrorMessage(output: string): string | undefined {
  const parsed = parseJson(output)
  if (!errorChecker.Check(parsed)) return undefined
  const { code, msg, details = '' } = parsed
  const message = details === '' ? msg : `${msg}; ${details}`
  return `${truncateText(message, AGENT_LIMITS.cniErrorCharsMax)} (code ${code})`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Network of the allocation. Addresses of interfaces outside the namespace are ignored. */
export function networkFromResult(
  { interfaces, ips, dns }: PluginResult,
  namespacePath: string,
): AllocationNetwork {
  const addresses = (ips ?? []).flatMap(({ address, interface: index }) => {
    const device = interfaces?.[index ?? -1]
    const isOutside = device !== undefined && (device.sandbox ?? '') === ''
    const host = address.split('/')[0] ?? ''
    return isOutside ? [] : [{ host, name: device?.name ?? INTERFACE_NAME }]
  })
  const v4 = addresses.find(({ host }) => isIPv4(host))
  const v6 = addresses.find(({ host }) => isIPv6(host))
  const servers = dns?.nameservers ?? []
  const searches = dns?.search ?? []
  const options = dns?.options ?? []
  // `domain` is the older way to say where short names are searched.
  const searchDomains = searches.length === 0 && dns?.domain ? [dns.domain] : searches
  const hasDns = servers.length + searchDomains.length + options.length > 0
  return {
    namespacePath,
    address: v4?.host ?? '',
    addressIPv6: v6?.host ?? '',
    interfaceName: (v4 ?? v6)?.name ?? INTERFACE_NAME,
    dns: hasDns ? { servers, searches: searchDomains, options } : undefined,
  }
}

/** Names of attributes, which constraints use. */
const PLUGIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Attribute `plugins.cni.version.NAME` for each plug-in that reports its version. */
export async function readPluginVersions(
  directories: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const semaphore = new Semaphore(AGENT_LIMITS.cniVersionsInFlightMax)
  const paths = (await listPlugins(directories)).slice(0, AGENT_LIMITS.cniVersionPluginsMax)
  const versions = await Promise.all(
    paths.map(
      async ([name, path]) => [name, await semaphore.run(() => readPluginVersion(path))] as const,
    ),
  )
  return Object.fromEntries(
    versions.flatMap(([name, version]) =>
      version === undefined ? [] : [[`plugins.cni.version.${name}`, version]],
    ),
  )
}

/** Plug-ins by name; the first directory takes precedence. */
async function listPlugins(
  directories: readonly string[],
): Promise<readonly (readonly [string, string])[]> {
  const paths = new Map<string, string>()
  for (const directory of directories) {
    // Most nodes have no plug-ins, and a directory that cannot be read offers none.
    const names = await readdir(directory).catch((): string[] => [])
    for (const name of names.toSorted())
      if (PLUGIN_NAME.test(name) && !paths.has(name)) paths.set(name, join(directory, name))
  }
  return [...paths]
}

async function readPluginVersion(path: string): Promise<string | undefined> {
  if (!(await isExecutable(path))) return undefined
  const timeoutMs = AGENT_LIMITS.cniVersionTimeoutMs
  const { failure, stdout, stderr } = await runProgram(path, ['--version'], { timeoutMs })
  // Plug-ins usually print the version to standard error, complaining that no runtime called them.
  return failure === undefined ? parsePluginVersion(stdout.trim() || stderr) : undefined
}

/** `CNI bridge plugin v1.5.1` is 1.5.1. Builds of some distributions do not know their version. */
export function parsePluginVersion(text: string): string {
  const firstLine = text.split('\n', 1)[0] ?? ''
  return /(?:^|\s)v?(\d{1,6}(?:\.\d{1,6}){1,3}[\w.+-]{0,64})/.exec(firstLine)?.[1] ?? 'unknown'
}
