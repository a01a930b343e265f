import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { useAct } from '../../data/use-act.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'

export type RunVerb = 'apply' | 'discard' | 'cancel'

const VERBS = {
  apply: {
    text: 'Apply',
    call: 'applyRun',
    means: 'The plan is confirmed: whatever executes it goes on.',
    done: 'The run is confirmed.',
  },
  discard: {
    text: 'Discard',
    call: 'discardRun',
    means: 'The plan is thrown away. Nothing changes.',
    done: 'The run is discarded.',
  },
  cancel: {
    text: 'Cancel',
    call: 'cancelRun',
    means: 'The run ends where it is; an apply finishes its current operation first.',
    done: 'The run is canceled.',
  },
} as const

interface RunDecisionProps {
  readonly verb: RunVerb
  readonly run: v2.Run
  readonly onClose: () => void
}

/** Asks for a decision about a run, with a comment that is kept with it. */
export function RunDecision({ verb, run, onClose }: RunDecisionProps) {
  const act = useAct()
  const [comment, setComment] = useState('')
  const { text, call, means, done } = VERBS[verb]
  const decide = async () => {
    const params = { run_id: run.id }
    const body = comment === '' ? {} : { comment }
    const decided = await act({
      call: async (api) => {
        await api.v2[call]({ params, body })
        return true
      },
      done,
    })
    return decided !== undefined
  }
  return (
    <FormDialog title={`${text} this run?`} action={text} onSubmit={decide} onClose={onClose}>
      <p>{means}</p>
      {verb === 'apply' && run.attributes['is-destroy'] && (
        <p>It destroys everything that the workspace manages.</p>
      )}
      <TextField label="Comment" isOptional value={comment} onChange={setComment} />
    </FormDialog>
  )
}
