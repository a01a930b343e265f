import type { v2 } from '@reeve/contract'
import {
  publicStatus,
  type CreatedState,
  type VisibleOutput,
  type VisibleState,
  type StateDigest,
} from '../../../governance/index.ts'
import type { StateVersionRow } from '../../../model/index.ts'
import { resourcePath, relatedLink, formatTime, toMany, toOne } from './links.ts'

/** Additional input for the document of a state version. */
export interface StateDocumentInput {
  /** Scheme and host of absolute URLs. */
  readonly origin: string
  readonly nowMs: number
  /** Keys of the upload URLs; only in the response of create. */
  readonly keys?: CreatedState['keys']
  /** Digest; only for a single state version. */
  readonly digest?: StateDigest
  readonly outputIds?: readonly string[]
}

export function stateVersionResource(
  { state }: Pick<VisibleState, 'state'>,
  input: StateDocumentInput,
): v2.StateVersion {
  const { id, runId } = state
  return {
    id,
    type: 'state-versions',
    attributes: stateVersionAttributes(state, input),
    relationships: {
      workspace: toOne('workspaces', state.workspaceId),
      run: runId === null ? { data: null } : toOne('runs', runId),
      'created-by': toOne('users', state.createdById),
      'rollback-state-version':
        state.rollbackOfId === null ? { data: null } : toOne('state-versions', state.rollbackOfId),
      outputs: {
        ...relatedLink('state-versions', id, 'outputs'),
        ...(input.outputIds && toMany('state-version-outputs', input.outputIds)),
      },
    },
    links: { self: resourcePath('state-versions', id) },
  }
}

function stateVersionAttributes(
  state: StateVersionRow,
  { origin, nowMs, keys, digest }: StateDocumentInput,
): v2.StateVersion['attributes'] {
  const { id } = state
  const upload = (form: string, key: string): string => origin + resourcePath('uploads', form, key)
  return {
    'created-at': formatTime(state.createdMs),
    status: publicStatus(state, nowMs),
    serial: state.serial,
    lineage: state.lineage,
    md5: state.md5,
    size: state.state?.bytes ?? 0,
    'state-version': state.format,
    'tool-version': state.toolVersion,
    'resources-processed': state.status === 'finalized',
    'resource-count': state.resourceCount,
    intermediate: state.intermediate,
    ...(digest !== undefined && resourceCounts(digest)),
    'hosted-state-download-url':
      state.state === null ? null : origin + resourcePath('state-versions', id, 'download'),
    'hosted-json-state-download-url':
      state.jsonState === null
        ? null
        : origin + resourcePath('state-versions', id, 'json-download'),
    ...(keys !== undefined && {
      'hosted-state-upload-url': upload('state', keys.state),
      'hosted-json-state-upload-url': upload('json-state', keys.json),
    }),
  }
}

type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Returns the resources, and their number by type of each module and provider. */
function resourceCounts({ resources }: StateDigest) {
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
  { id, name, sensitive, detailedType, value }: VisibleOutput,
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
    links: { self: resourcePath('state-version-outputs', id) },
  }
}

const LIST_TYPES: ReadonlySet<unknown> = new Set(['list', 'set', 'tuple'])

/** Returns the simple name of a type. */
function plainType(detailedType: unknown): string {
  if (typeof detailedType === 'string') return detailedType
  const [kind]: readonly unknown[] = Array.isArray(detailedType) ? detailedType : []
  return LIST_TYPES.has(kind) ? 'array' : 'map'
}
