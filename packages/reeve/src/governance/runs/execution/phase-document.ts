import type { v2 } from '@reeve/contract'
import type { RunRow } from '../../../model/index.ts'
import type { GovernanceContext } from '../../context.ts'
import type { SeenPhase } from './phase-access.ts'

/** Everything that the runner has to know, with the values of the variables: it is the only reader. */
export function phaseDocument(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  { phase, run }: SeenPhase,
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
    structuredOutput: true,
    isDestroy: run.isDestroy,
    refresh: run.refresh,
    refreshOnly: run.refreshOnly,
    allowConfigGeneration: run.execution?.allowConfigGeneration ?? false,
    targets: run.targetAddresses,
    replacements: run.replaceAddresses,
    variables: runVariables(context, run),
  }
}

/** Values given with a run are expressions of the configuration language. */
function runVariables(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  { execution }: RunRow,
): readonly v2.PhaseVariable[] {
  if (execution === undefined || execution.variables === null) return []
  // `newExecution` sealed variables of this form.
  const given = JSON.parse(sealer.open(execution.variables)) as readonly GivenVariable[]
  return given.map(({ key, value }) => ({
    key,
    value,
    category: 'terraform',
    hcl: true,
    sensitive: false,
  }))
}

export interface GivenVariable {
  readonly key: string
  readonly value: string
}
