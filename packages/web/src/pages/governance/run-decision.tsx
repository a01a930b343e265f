import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { useApiAction } from '../../data/use-act.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'

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
  const { text, call, means: explanation, done: successMessage } = DECISIONS[kind]
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
    <FormDialog title={`${text} this run?`} action={text} onSubmit={decide} onClose={onClose}>
      <p>{explanation}</p>
      {kind === 'apply' && run.attributes['is-destroy'] && (
        <p>It destroys everything that the workspace manages.</p>
      )}
      <TextField label="Comment" isOptional value={comment} onChange={setComment} />
    </FormDialog>
  )
}
