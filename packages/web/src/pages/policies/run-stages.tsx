import type { v2 } from '@reeve/contract'
import { overrideDisabledReason } from '../../actions/governance-can.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { OverrideButton } from './override-button.tsx'
import { OverrideNote } from './override-note.tsx'
import { PolicySetResults } from './set-verdicts.tsx'

interface StagesPanelProps {
  readonly organization: string
  readonly runId: string
}

/** Results of the policies of kind `opa` for a run. */
export function StagesPanel({ organization, runId }: StagesPanelProps) {
  const stages = useApiQuery(
    ['task-stages', runId],
    (api, signal) => api.v2.listTaskStages({ params: { run_id: runId }, signal }),
    { watches: [{ topic: 'PolicyEvaluation' }, { topic: 'Run' }] },
  )
  return (
    <QueryView query={stages} what="the policy evaluations">
      {({ data }) =>
        data.map((stage) => <Stage key={stage.id} organization={organization} stage={stage} />)
      }
    </QueryView>
  )
}

interface StageProps {
  readonly organization: string
  readonly stage: v2.TaskStage
}

function Stage({ organization, stage }: StageProps) {
  const { status, override } = stage.attributes
  return (
    <Panel
      title="OPA policies"
      actions={
        <>
          <StatusBadge state={status} text={status.replaceAll('_', ' ')} />
          <OverrideButton
            disabledReason={overrideDisabledReason.stage(stage)}
            call={(api, comment) =>
              api.v2.overrideTaskStage({ params: { task_stage_id: stage.id }, body: { comment } })
            }
          />
        </>
      }
    >
      <OverrideNote override={override} />
      {stage.relationships['policy-evaluations'].data.map(({ id }) => (
        <Evaluation key={id} organization={organization} id={id} />
      ))}
    </Panel>
  )
}

interface EvaluationProps {
  readonly organization: string
  readonly id: string
}

function Evaluation({ organization, id }: EvaluationProps) {
  const outcomes = useApiQuery(
    ['policy-set-outcomes', id],
    (api, signal) =>
      api.v2.listPolicySetOutcomes({
        params: { policy_evaluation_id: id },
        query: { 'page[size]': 100 },
        signal,
      }),
    { watches: [{ topic: 'PolicySetOutcome' }] },
  )
  return (
    <QueryView query={outcomes} what="the verdicts">
      {({ data }) => (
        <PolicySetResults
          organization={organization}
          sets={data.map(({ attributes }) => attributes)}
        />
      )}
    </QueryView>
  )
}
