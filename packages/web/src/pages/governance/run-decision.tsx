import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { FormDialog, TextField } from '../../components/form.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { RunOverrides } from '../policies/run-policies.tsx'
import { countsText, useRunPlan } from './run-plan.tsx'

export type RunDecisionKind = 'apply' | 'discard' | 'cancel'

const DECISIONS = {
  apply: {
    text: 'Apply',
    call: 'applyRun',
    means: 'Confirms the plan, which is then applied.',
    done: 'The run is confirmed.',
  },
  discard: {
    text: 'Discard',
    call: 'discardRun',
    means: 'Discards the plan. Nothing changes.',
    done: 'The run is discarded.',
  },
  cancel: {
    text: 'Cancel',
    call: 'cancelRun',
    means: 'Cancels the run; an apply finishes its current operation first.',
    done: 'The run is canceled.',
  },
} as const

interface RunDecisionProps {
  readonly kind: RunDecisionKind
  readonly run: v2.Run
  readonly onClose: () => void
}

/** The dialog to apply, discard or cancel a run, with an optional comment. */
export function RunDecision({ kind, run, onClose }: RunDecisionProps) {
  const callApi = useApiAction()
  const [comment, setComment] = useState('')
  const [typedCount, setTypedCount] = useState('')
  const plan = useRunPlan(run)
  const { text, call, means: explanation, done: successMessage } = DECISIONS[kind]
  const counts = plan.data?.record.attributes
  const destroyed = kind === 'apply' ? (counts?.['resource-destructions'] ?? 0) : 0
  const decide = async () => {
    const params = { run_id: run.id }
    const body = comment === '' ? {} : { comment }
    const result = await callApi({
      call: async (api) => {
        await api.v2[call]({ params, body })
        return true
      },
      successMessage,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={`${text} this run?`}
      action={text}
      kind={destroyed > 0 ? 'danger' : 'primary'}
      disabledReason={
        kind === 'apply' && counts === undefined
          ? 'The plan is still being loaded.'
          : destroyed > 0 && typedCount.trim() !== String(destroyed)
            ? `Type ${destroyed} to confirm how many resources are destroyed.`
            : undefined
      }
      onSubmit={decide}
      onClose={onClose}
    >
      <p>{explanation}</p>
      {kind === 'apply' && counts !== undefined && (
        <p>
          <strong>{countsText(counts)}</strong>
        </p>
      )}
      {kind === 'apply' && <RunOverrides runId={run.id} />}
      {destroyed > 0 && (
        <>
          {run.attributes['is-destroy'] && (
            <p className="bad">It destroys everything that the workspace manages.</p>
          )}
          <TextField
            label="Number of destroyed resources"
            value={typedCount}
            onChange={setTypedCount}
            hint={`Type ${destroyed} to confirm.`}
          />
        </>
      )}
      <TextField label="Comment" isOptional value={comment} onChange={setComment} />
    </FormDialog>
  )
}
