import type { Namespace, NamespaceRequest } from '@reeve/contract'
import { namesIn } from '../../parts/names-in.ts'

/** A namespace as its form holds it: lists are texts with commas. */
export interface NamespaceDraft {
  readonly name: string
  readonly description: string
  readonly drivers: string
  readonly noDrivers: string
  readonly pool: string
  readonly pools: string
  readonly noPools: string
}

export function draftOf(namespace: Namespace | undefined): NamespaceDraft {
  const { Capabilities, NodePoolConfiguration } = namespace ?? {}
  const text = (names: readonly string[] | null | undefined) => (names ?? []).join(', ')
  return {
    name: namespace?.Name ?? '',
    description: namespace?.Description ?? '',
    drivers: text(Capabilities?.EnabledTaskDrivers),
    noDrivers: text(Capabilities?.DisabledTaskDrivers),
    pool: NodePoolConfiguration?.Default ?? '',
    pools: text(NodePoolConfiguration?.Allowed),
    noPools: text(NodePoolConfiguration?.Denied),
  }
}

/** The request that stores a draft; what the form does not show stays as it was. */
export function bodyOf(namespace: Namespace | undefined, draft: NamespaceDraft): NamespaceRequest {
  const modes = { EnabledNetworkModes: null, DisabledNetworkModes: null }
  const capabilities = {
    ...modes,
    ...namespace?.Capabilities,
    EnabledTaskDrivers: listOf(draft.drivers),
    DisabledTaskDrivers: listOf(draft.noDrivers),
  }
  const pools = {
    Default: draft.pool.trim(),
    Allowed: listOf(draft.pools),
    Denied: listOf(draft.noPools),
  }
  return {
    ...namespace,
    Name: draft.name.trim(),
    Description: draft.description,
    Capabilities: saysSomething(capabilities) ? capabilities : null,
    NodePoolConfiguration: saysSomething(pools) ? pools : null,
  }
}

function listOf(text: string): string[] | null {
  const names = namesIn(text)
  return names.length === 0 ? null : names
}

function saysSomething(part: object): boolean {
  return Object.values(part).some((value) => value !== null && value !== '')
}

/** Of allowing and denying, a rule does one. */
export function faultIn({ name, drivers, noDrivers, pools, noPools }: NamespaceDraft) {
  if (name.trim() === '') return 'Enter a name.'
  if (listOf(pools) !== null && listOf(noPools) !== null)
    return 'Set either allowed or denied node pools, not both.'
  const both = namesIn(drivers).find((driver) => namesIn(noDrivers).includes(driver))
  return both === undefined ? undefined : `The driver ${both} is both allowed and denied.`
}
