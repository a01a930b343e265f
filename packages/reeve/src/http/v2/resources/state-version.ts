import type { v2 } from '@reeve/contract'
import {
  shownStatus,
  type NewState,
  type SeenOutput,
  type SeenState,
  type StateDigest,
} from '../../../governance/index.ts'
import type { StateVersionRow } from '../../../model/index.ts'
import { pathOf, related, timeText, toMany, toOne } from './links.ts'

/** Additional input for the document of a state version. */
export interface StateContext {
  /** Scheme and host of absolute URLs. */
  readonly origin: string
  readonly nowMs: number
  /** Keys of the upload URLs; only in the response of create. */
  readonly keys?: NewState['keys']
  /** Digest; only for a single state version. */
  readonly digest?: StateDigest
  readonly outputIds?: readonly string[]
}

export function stateVersionResource(
  { state }: Pick<SeenState, 'state'>,
  shown: StateContext,
): v2.StateVersion {
  const { id, runId } = state
  return {
    id,
    type: 'state-versions',
    attributes: attributesOf(state, shown),
    relationships: {
      workspace: toOne('workspaces', state.workspaceId),
      run: runId === null ? { data: null } : toOne('runs', runId),
      'created-by': toOne('users', state.createdById),
      'rollback-state-version':
        state.rollbackOfId === null ? { data: null } : toOne('state-versions', state.rollbackOfId),
      outputs: {
        ...related('state-versions', id, 'outputs'),
        ...(shown.outputIds && toMany('state-version-outputs', shown.outputIds)),
      },
    },
    links: { self: pathOf('state-versions', id) },
  }
}

function attributesOf(
  state: StateVersionRow,
  { origin, nowMs, keys, digest }: StateContext,
): v2.StateVersion['attributes'] {
  const { id } = state
  const upload = (form: string, key: string): string => origin + pathOf('uploads', form, key)
  return {
    'created-at': timeText(state.createdMs),
    status: shownStatus(state, nowMs),
    serial: state.serial,
    lineage: state.lineage,
    md5: state.md5,
    size: state.state?.bytes ?? 0,
    'state-version': state.format,
    'tool-version': state.toolVersion,
    'resources-processed': state.status === 'finalized',
    'resource-count': state.resourceCount,
    intermediate: state.intermediate,
    ...(digest !== undefined && resourcesOf(digest)),
    'hosted-state-download-url':
      state.state === null ? null : origin + pathOf('state-versions', id, 'download'),
    'hosted-json-state-download-url':
      state.jsonState === null ? null : origin + pathOf('state-versions', id, 'json-download'),
    ...(keys !== undefined && {
      'hosted-state-upload-url': upload('state', keys.state),
      'hosted-json-state-upload-url': upload('json-state', keys.json),
    }),
  }
}

type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Returns the resources, and their number by type of each module and provider. */
function resourcesOf({ resources }: StateDigest) {
  const countsBy = (nameOf: (one: v2.StateResource) => string): Counts => {
    const counts = new Map<string, Map<string, number>>()
    for (const one of resources) {
      const types = counts.get(nameOf(one)) ?? new Map<string, number>()
      types.set(one.type, (types.get(one.type) ?? 0) + one.count)
      counts.set(nameOf(one), types)
    }
    return Object.fromEntries([...counts].map(([name, types]) => [name, Object.fromEntries(types)]))
  }
  return {
    resources,
    modules: countsBy(({ module }) => module),
    providers: countsBy(({ provider }) => provider),
  }
}

/** Returns an output. Sensitive values are shown only if a single output is requested. */
export function outputResource(
  { id, name, sensitive, detailedType, value }: SeenOutput,
  { isSingle }: { readonly isSingle: boolean },
): v2.StateVersionOutput {
  return {
    id,
    type: 'state-version-outputs',
    attributes: {
      name,
      sensitive,
      type: plainType(detailedType),
      'detailed-type': detailedType,
      value: sensitive && !isSingle ? null : value,
    },
    links: { self: pathOf('state-version-outputs', id) },
  }
}

const LISTS: ReadonlySet<unknown> = new Set(['list', 'set', 'tuple'])

/** Returns the type as one word. */
function plainType(detailedType: unknown): string {
  if (typeof detailedType === 'string') return detailedType
  const [kind]: readonly unknown[] = Array.isArray(detailedType) ? detailedType : []
  return LISTS.has(kind) ? 'array' : 'map'
}
