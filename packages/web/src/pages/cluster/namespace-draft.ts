import type { Namespace, NamespaceRequest } from '@reeve/contract'
import { parseNames } from '../../format.ts'

/** A namespace as edited in the form: lists are comma-separated texts. */
export interface NamespaceDraft {
  readonly name: string
  readonly description: string
  readonly drivers: string
  readonly deniedDrivers: string
  readonly pool: string
  readonly pools: string
  readonly deniedPools: string
}

export function toNamespaceDraft(namespace: Namespace | undefined): NamespaceDraft {
  const { Capabilities, NodePoolConfiguration } = namespace ?? {}
  const text = (names: readonly string[] | null | undefined) => (names ?? []).join(', ')
  return {
    name: namespace?.Name ?? '',
    description: namespace?.Description ?? '',
    drivers: text(Capabilities?.EnabledTaskDrivers),
    deniedDrivers: text(Capabilities?.DisabledTaskDrivers),
    pool: NodePoolConfiguration?.Default ?? '',
    pools: text(NodePoolConfiguration?.Allowed),
    deniedPools: text(NodePoolConfiguration?.Denied),
  }
}

/** Returns the write request for a draft; fields outside the form are unchanged. */
export function toNamespaceRequest(
  namespace: Namespace | undefined,
  draft: NamespaceDraft,
): NamespaceRequest {
  const modes = { EnabledNetworkModes: null, DisabledNetworkModes: null }
  const capabilities = {
    ...modes,
    ...namespace?.Capabilities,
    EnabledTaskDrivers: namesOrNull(draft.drivers),
    DisabledTaskDrivers: namesOrNull(draft.deniedDrivers),
  }
  const pools = {
    Default: draft.pool.trim(),
    Allowed: namesOrNull(draft.pools),
    Denied: namesOrNull(draft.deniedPools),
  }
  return {
    ...namespace,
    Name: draft.name.trim(),
    Description: draft.description,
    Capabilities: hasValues(capabilities) ? capabilities : null,
    NodePoolConfiguration: hasValues(pools) ? pools : null,
  }
}

function namesOrNull(text: string): string[] | null {
  const names = parseNames(text)
  return names.length === 0 ? null : names
}

function hasValues(settings: object): boolean {
  return Object.values(settings).some((value) => value !== null && value !== '')
}

/** Returns why the draft is invalid: pools and drivers are either allowed or denied. */
export function draftError({ name, drivers, deniedDrivers, pools, deniedPools }: NamespaceDraft) {
  if (name.trim() === '') return 'Enter a name.'
  if (namesOrNull(pools) !== null && namesOrNull(deniedPools) !== null)
    return 'Set either allowed or denied node pools, not both.'
  const both = parseNames(drivers).find((driver) => parseNames(deniedDrivers).includes(driver))
  return both === undefined ? undefined : `The driver ${both} is both allowed and denied.`
}
