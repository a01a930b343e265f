import type { VariableFields, VariableSetRow, WorkspaceRow } from '../../model/index.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { scopedKey, type Tables } from '../../state/index.ts'
import { rowsByCreation } from '../list-index.ts'

type VariableTarget = Pick<WorkspaceRow, 'id' | 'organizationId' | 'projectId'>

/** Variable sets that apply to a workspace, highest precedence first. */
interface ApplicableSets {
  /** Their values override those of runs and workspaces. */
  readonly priority: readonly VariableSetRow[]
  readonly others: readonly VariableSetRow[]
}

export function applicableVariableSets(tables: Tables, workspace: VariableTarget): ApplicableSets {
  const { global, project, own } = setsByScope(tables, workspace)
  const isPriority = ({ priority }: VariableSetRow): boolean => priority
  const pick = (
    scopes: readonly (readonly VariableSetRow[])[],
    wanted: boolean,
  ): readonly VariableSetRow[] => [
    // A set that applies in several ways counts once, with its highest precedence.
    ...new Set(scopes.flatMap((sets) => sets.filter((set) => isPriority(set) === wanted))),
  ]
  return {
    priority: pick([global, project, own].map(sortByOwner('organization')), true),
    others: pick([own, project, global].map(sortByOwner('project')), false),
  }
}

function setsByScope(
  { variable_sets: sets, variable_set_members: members }: Tables,
  target: VariableTarget,
) {
  const attached = (relation: 'workspaces' | 'projects', id: string): readonly VariableSetRow[] =>
    members
      .rowsByIndex('member', scopedKey(relation, id))
      .flatMap(({ variableSetId }) => sets.find(variableSetId) ?? [])
      // Sets of a former project do not apply to a moved workspace.
      .filter(({ projectId }) => projectId === null || projectId === target.projectId)
  return {
    global: sets.rowsByIndex('global', target.organizationId),
    project: attached('projects', target.projectId),
    own: attached('workspaces', target.id),
  }
}

/** Sorts sets of one scope by owner, then by name in code point order. */
function sortByOwner(first: 'organization' | 'project') {
  const rank = ({ projectId }: VariableSetRow): number =>
    (projectId === null) === (first === 'organization') ? 0 : 1
  return (sets: readonly VariableSetRow[]): readonly VariableSetRow[] =>
    sets.toSorted(
      (a, b) => rank(a) - rank(b) || compareText(a.name, b.name) || compareText(a.id, b.id),
    )
}

/** A variable of the runs of a workspace; `setId` is absent for the workspace's own. */
export interface EffectiveVariable {
  readonly variable: VariableFields
  readonly setId?: string
}

/** Values of a run come between the two lists; for equal keys in a list the first wins. */
interface VariableLayers {
  readonly priority: readonly EffectiveVariable[]
  readonly others: readonly EffectiveVariable[]
}

export function variableLayers(tables: Tables, workspace: VariableTarget): VariableLayers {
  const variablesOfSets = (sets: readonly VariableSetRow[]): readonly EffectiveVariable[] =>
    sets.flatMap(({ id: setId }) =>
      rowsByCreation(tables.variable_set_variables, 'set', setId).map((variable) => ({
        variable,
        setId,
      })),
    )
  const { priority, others } = applicableVariableSets(tables, workspace)
  const ownVariables = rowsByCreation(tables.run_variables, 'workspace', workspace.id)
  return {
    priority: variablesOfSets(priority),
    others: [...ownVariables.map((variable) => ({ variable })), ...variablesOfSets(others)],
  }
}

/** Returns the variables that the runs of a workspace receive, without those of a run itself. */
export function effectiveVariables(
  tables: Tables,
  workspace: VariableTarget,
): readonly EffectiveVariable[] {
  const { priority, others } = variableLayers(tables, workspace)
  return firstByKey([...priority, ...others], ({ variable }) => variable)
}

/** Returns the first item of each category and key. */
export function firstByKey<T>(
  items: readonly T[],
  keyOf: (item: T) => { readonly category: string; readonly key: string },
): readonly T[] {
  const found = new Map<string, T>()
  for (const item of items) {
    const { category, key } = keyOf(item)
    const name = `${category}!${key}`
    if (!found.has(name)) found.set(name, item)
  }
  return [...found.values()]
}
