import type { VariableFields, VariableSetRow, WorkspaceRow } from '../../model/index.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { scopedKey, type Tables } from '../../state/index.ts'
import { oldestFirst } from './oldest-first.ts'

type Place = Pick<WorkspaceRow, 'id' | 'organizationId' | 'projectId'>

/** The variable sets that apply to a workspace, highest precedence first. */
export interface AppliedSets {
  /** Their values win over those of runs and workspaces. */
  readonly priority: readonly VariableSetRow[]
  readonly others: readonly VariableSetRow[]
}

export function setsFor(tables: Tables, workspace: Place): AppliedSets {
  const { global, project, own } = setsByScope(tables, workspace)
  const isPriority = ({ priority }: VariableSetRow): boolean => priority
  const pick = (
    scopes: readonly (readonly VariableSetRow[])[],
    wanted: boolean,
  ): readonly VariableSetRow[] => [
    // A set that applies in two ways counts where it wins.
    ...new Set(scopes.flatMap((sets) => sets.filter((set) => isPriority(set) === wanted))),
  ]
  return {
    priority: pick([global, project, own].map(inOrder('organization')), true),
    others: pick([own, project, global].map(inOrder('project')), false),
  }
}

function setsByScope({ variable_sets: sets, variable_set_members: members }: Tables, place: Place) {
  const attached = (relation: 'workspaces' | 'projects', id: string): readonly VariableSetRow[] =>
    members
      .rowsIn('member', scopedKey(relation, id))
      .flatMap(({ variableSetId }) => sets.find(variableSetId) ?? [])
      // A workspace that was moved is out of reach of the sets of its former project.
      .filter(({ projectId }) => projectId === null || projectId === place.projectId)
  return {
    global: sets.rowsIn('global', place.organizationId),
    project: attached('projects', place.projectId),
    own: attached('workspaces', place.id),
  }
}

/** In one scope: by owner, then by name in the order of code points. */
function inOrder(first: 'organization' | 'project') {
  const rank = ({ projectId }: VariableSetRow): number =>
    (projectId === null) === (first === 'organization') ? 0 : 1
  return (sets: readonly VariableSetRow[]): readonly VariableSetRow[] =>
    sets.toSorted(
      (a, b) => rank(a) - rank(b) || compareText(a.name, b.name) || compareText(a.id, b.id),
    )
}

/** A variable that runs of a workspace get; `setId` is absent for one of the workspace itself. */
export interface EffectiveVariable {
  readonly variable: VariableFields
  readonly setId?: string
}

/** Values given with a run come between the two lists; of equal keys in a list the first counts. */
export interface VariableLayers {
  readonly priority: readonly EffectiveVariable[]
  readonly others: readonly EffectiveVariable[]
}

export function variableLayers(tables: Tables, workspace: Place): VariableLayers {
  const ofSets = (sets: readonly VariableSetRow[]): readonly EffectiveVariable[] =>
    sets.flatMap(({ id: setId }) =>
      oldestFirst(tables.variable_set_variables, 'set', setId).map((variable) => ({
        variable,
        setId,
      })),
    )
  const { priority, others } = setsFor(tables, workspace)
  const own = oldestFirst(tables.run_variables, 'workspace', workspace.id)
  return {
    priority: ofSets(priority),
    others: [...own.map((variable) => ({ variable })), ...ofSets(others)],
  }
}

/** What the runs of a workspace get, without what a run says itself. */
export function effectiveVariables(tables: Tables, workspace: Place): readonly EffectiveVariable[] {
  const { priority, others } = variableLayers(tables, workspace)
  return firstOfEach([...priority, ...others], ({ variable }) => variable)
}

/** The first of each category and key. */
export function firstOfEach<T>(
  items: readonly T[],
  nameOf: (item: T) => { readonly category: string; readonly key: string },
): readonly T[] {
  const found = new Map<string, T>()
  for (const item of items) {
    const { category, key } = nameOf(item)
    const name = `${category}!${key}`
    if (!found.has(name)) found.set(name, item)
  }
  return [...found.values()]
}
