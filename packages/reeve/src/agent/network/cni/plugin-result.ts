import { isIPv4, isIPv6 } from 'node:net'
import { Type, type Static, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import type { AllocationNetwork } from '../allocation-network.ts'

/** The device that the plug-ins create inside. */
export const INTERFACE_NAME = 'eth0'

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
