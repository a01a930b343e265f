import type { v2 } from '@reeve/contract'
import type { RunPhaseRow, RunRow, WorkspaceRow } from '../../../model/index.ts'
import type { GovernanceContext } from '../../context.ts'
import {
  firstByKey,
  variableLayers,
  type EffectiveVariable,
} from '../../variables/effective-variables.ts'

/** Returns everything that the runner needs. Only the runner receives the values of variables. */
export function phaseDocument(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  { phase, run }: { readonly phase: RunPhaseRow; readonly run: RunRow },
): v2.PhaseDocument {
  const { tables } = context.store
  const workspace = tables.workspaces.get(run.workspaceId)
  return {
    phase: phase.phase,
    runId: run.id,
    organization: tables.organizations.get(run.organizationId).name,
    project: tables.projects.get(workspace.projectId).name,
    workspace: workspace.name,
    workingDirectory: workspace.workingDirectory,
    structuredOutput: run.execution?.structuredLog ?? true,
    isDestroy: run.isDestroy,
    refresh: run.refresh,
    refreshOnly: run.refreshOnly,
    allowConfigGeneration: run.execution?.allowConfigGeneration ?? false,
    targets: run.targetAddresses,
    replacements: run.replaceAddresses,
    variables: effectiveValues(context, run, workspace),
  }
}

/** Returns the variables of a run; for equal keys the value with the highest precedence. */
function effectiveValues(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  run: RunRow,
  workspace: WorkspaceRow,
): readonly v2.PhaseVariable[] {
  const { priority, others } = variableLayers(context.store.tables, workspace)
  const toPhaseVariable = ({ variable: row }: EffectiveVariable): v2.PhaseVariable => ({
    key: row.key,
    value: row.sensitive ? context.sealer.open(row.value) : row.value,
    category: row.category === 'env' ? 'env' : 'input',
    hcl: row.hcl,
    sensitive: row.sensitive,
  })
  const all = [
    ...priority.map(toPhaseVariable),
    ...runVariables(context, run),
    ...others.map(toPhaseVariable),
  ]
  return firstByKey(all, (variable) => variable)
}

/** Values given with a run are expressions of the configuration language. */
function runVariables(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  { execution }: RunRow,
): readonly v2.PhaseVariable[] {
  if (execution === undefined || execution.variables === null) return []
  // `resolveExecution` encrypted variables of this form.
  const parsed = JSON.parse(sealer.open(execution.variables)) as readonly RunVariable[]
  return parsed.map(({ key, value }) => ({
    key,
    value,
    category: 'input',
    hcl: true,
    sensitive: false,
  }))
}

interface RunVariable {
  readonly key: string
  readonly value: string
}
