import { useState } from 'react'
import type { v2 } from '@reeve/contract'
import { ActionButton } from '../../components/action-button.tsx'
import { FormDialog, TextField } from '../../components/form.tsx'
import { overrideDisabledReason } from '../../permissions/governance.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { dateFromText } from '../../format.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import type { Api } from '../../session/api.ts'
import { PolicySetResults } from './policy-results.tsx'

interface ChecksPanelProps {
  readonly organization: string
  readonly runId: string
}

/** Results of the policies of kind `native` for a run. */
export function ChecksPanel({ organization, runId }: ChecksPanelProps) {
  const checks = usePolicyChecks(runId)
  return (
    <QueryView query={checks} what="the policy checks">
      {({ data }) =>
        data.map((check) => <Check key={check.id} organization={organization} check={check} />)
      }
    </QueryView>
  )
}

function usePolicyChecks(runId: string) {
  return useApiQuery(
    ['policy-checks', runId],
    (api, signal) => api.v2.listPolicyChecks({ params: { run_id: runId }, signal }),
    { watches: [{ topic: 'PolicyCheck' }, { topic: 'Run' }] },
  )
}

interface CheckProps {
  readonly organization: string
  readonly check: v2.PolicyCheck
}

function Check({ organization, check }: CheckProps) {
  const { status, result, override } = check.attributes
  const isWaiting = status === 'pending' || status === 'queued'
  return (
    <Panel
      title="Native policies"
      actions={
        <>
          <StatusBadge state={status} text={status.replaceAll('_', ' ')} />
          <OverrideButton
            disabledReason={overrideDisabledReason.check(check)}
            call={(api, comment) =>
              api.v2.overridePolicyCheck({
                params: { policy_check_id: check.id },
                body: { comment },
              })
            }
          />
        </>
      }
    >
      <OverrideNote override={override} />
      {result === null ? (
        <p className="quiet">{isWaiting ? 'Pending.' : 'Not evaluated.'}</p>
      ) : (
        <PolicySetResults organization={organization} sets={policySetsOf(result)} />
      )}
    </Panel>
  )
}

/** Returns the policy sets of a check, which its schema does not declare. */
function policySetsOf(result: v2.PolicyCheckResult): readonly v2.PolicySetVerdict[] {
  const sets = result.native?.['policy-sets']
  // The server writes them with the renderer of `PolicySetVerdict` (http/v2, policy results).
  return Array.isArray(sets) ? (sets as readonly v2.PolicySetVerdict[]) : []
}

interface StagesPanelProps {
  readonly organization: string
  readonly runId: string
}

/** Results of the policies of kind `opa` for a run. */
export function StagesPanel({ organization, runId }: StagesPanelProps) {
  const stages = useTaskStages(runId)
  return (
    <QueryView query={stages} what="the policy evaluations">
      {({ data }) =>
        data.map((stage) => <Stage key={stage.id} organization={organization} stage={stage} />)
      }
    </QueryView>
  )
}

function useTaskStages(runId: string) {
  return useApiQuery(
    ['task-stages', runId],
    (api, signal) => api.v2.listTaskStages({ params: { run_id: runId }, signal }),
    { watches: [{ topic: 'PolicyEvaluation' }, { topic: 'Run' }] },
  )
}

/** Who overrode failed policies of a run, and why. */
export function RunOverrides({ runId }: { readonly runId: string }) {
  const checks = usePolicyChecks(runId).data?.data ?? []
  const stages = useTaskStages(runId).data?.data ?? []
  return [...checks, ...stages].map(({ id, attributes }) => (
    <OverrideNote key={id} override={attributes.override} />
  ))
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
    <QueryView query={outcomes} what="the policy decisions">
      {({ data }) => (
        <PolicySetResults
          organization={organization}
          sets={data.map(({ attributes }) => attributes)}
        />
      )}
    </QueryView>
  )
}

interface OverrideButtonProps {
  readonly disabledReason: DisabledReason
  readonly call: (api: Api, comment: string) => Promise<unknown>
}

/** Overrides failed policies of a run. The user and the comment are recorded. */
function OverrideButton({ disabledReason, call }: OverrideButtonProps) {
  const callApi = useApiAction()
  const [isOpen, setOpen] = useState(false)
  const [comment, setComment] = useState('')
  const override = async () => {
    const result = await callApi({
      call: (api) => call(api, comment),
      successMessage: 'The policies are overridden.',
    })
    return result !== undefined
  }
  return (
    <>
      <ActionButton disabledReason={disabledReason} onAction={() => setOpen(true)}>
        Override…
      </ActionButton>
      {isOpen && (
        <FormDialog
          title="Override the policies"
          action="Override"
          onSubmit={override}
          onClose={() => setOpen(false)}
        >
          <TextField
            label="Why"
            isOptional
            value={comment}
            onChange={setComment}
            hint="Recorded with your name in the run and in the audit trail."
          />
        </FormDialog>
      )}
    </>
  )
}

/** Shows who overrode the policies, and the comment. */
function OverrideNote({ override }: { readonly override: v2.OverrideRecord | null }) {
  if (override === null) return null
  return (
    <p className="override-note">
      Overridden by <strong>{override.username}</strong>{' '}
      <RelativeTime date={dateFromText(override['overridden-at'])} />
      {override.comment === null || override.comment === '' ? '.' : `: “${override.comment}”`}
    </p>
  )
}
