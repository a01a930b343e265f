import type { AuditVia } from '@reeve/contract'
import type { ForwardReason } from '../http/index.ts'

/**
 * Header of a request that another region has forwarded, with the reason. It grants nothing: it
 * only prevents loops, and distinguishes the regional subrequest of a multi-region job from the
 * whole job.
 */
export const REGION_FORWARD_HEADER = 'x-service-region-hop'

const FORWARD_REASONS: readonly ForwardReason[] = ['named', 'authority', 'part']

/**
 * Header with the forwarding region and the client address: `us 192.0.2.7`. It is not trusted;
 * audit records show it beside the address of the connection.
 */
export const REGION_VIA_HEADER = 'x-service-region-via'

const VIA_PATTERN = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?: ([0-9A-Fa-f.:]{2,45}))?$/

export function formatVia(region: string, address: string): string {
  // The zone of a link-local address has no meaning on other machines.
  return `${region} ${address.replace(/%.*$/, '')}`.trimEnd()
}

export function parseVia(header: unknown): AuditVia | undefined {
  const [, Region, Address = ''] = (typeof header === 'string' && VIA_PATTERN.exec(header)) || []
  return Region === undefined ? undefined : { Region, Address }
}

/** An unknown reason, which a later version may send, still marks a forwarded request. */
export function parseForwardReason(header: unknown): ForwardReason | undefined {
  if (header === undefined) return undefined
  return FORWARD_REASONS.find((reason) => reason === header) ?? 'authority'
}

/** Returns the URL with this region as its only `region` parameter. */
export function withRegion(url: string, region: string): string {
  const queryStart = url.indexOf('?')
  const path = queryStart < 0 ? url : url.slice(0, queryStart)
  const parameters = (queryStart < 0 ? '' : url.slice(queryStart + 1))
    .split('&')
    .filter((pair) => pair !== '')
  // Pairs keep their encoding.
  const others = parameters.filter((pair) => !namesRegion(pair))
  return `${path}?${[...others, `region=${encodeURIComponent(region)}`].join('&')}`
}

function namesRegion(pair: string): boolean {
  return new URLSearchParams(pair).has('region')
}
