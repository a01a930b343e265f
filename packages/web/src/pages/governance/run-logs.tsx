import type { v2 } from '@reeve/contract'
import { followRunLog, logLine } from '@reeve/sdk'
import { useState } from 'react'
import { useRead } from '../../data/use-read.ts'
import { useTextStream } from '../../data/use-text-stream.ts'
import { LogView } from '../../parts/log-view.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'

type Phase = v2.RunPhaseName

/** The logs of both phases of a run, as they are written. */
export function RunLogsPanel({ run }: { readonly run: v2.Run }) {
  const hasApply = run.attributes['status-timestamps']['apply-queued-at'] !== undefined
  const [chosen, setChosen] = useState<Phase>()
  const phase = chosen ?? (hasApply ? 'apply' : 'plan')
  const url = useRead(['run-log', run.id, phase], async (api, signal) => {
    const { plan, apply } = run.relationships
    if (phase === 'plan') {
      const { data } = await api.v2.readPlan({ params: { plan_id: plan.data.id }, signal })
      return { data: data.data.attributes['log-read-url'] }
    }
    const { data } = await api.v2.readApply({
      params: { apply_id: apply.data?.id ?? '' },
      signal,
    })
    return { data: data.data.attributes['log-read-url'] }
  })
  // An uploaded plan was made elsewhere, and so was its log.
  if (run.relationships.apply.data === null) return null
  return (
    <Panel
      title={phase === 'plan' ? 'Log of the plan' : 'Log of the apply'}
      actions={
        hasApply && (
          <button
            type="button"
            className="button"
            onClick={() => setChosen(phase === 'plan' ? 'apply' : 'plan')}
          >
            {phase === 'plan' ? 'Show the apply' : 'Show the plan'}
          </button>
        )
      }
    >
      <QueryView query={url} what="the log">
        {(address) => (address === null ? null : <FollowedLog url={address} phase={phase} />)}
      </QueryView>
    </Panel>
  )
}

interface FollowedLogProps {
  readonly url: string
  readonly phase: Phase
}

function FollowedLog({ url, phase }: FollowedLogProps) {
  const stream = useTextStream(`run-log ${url}`, (api, signal) =>
    Promise.resolve(followRunLog(api, { url, signal })),
  )
  const lines = stream.log.lines.flatMap((line) => logLine(line).split('\n'))
  const shown = { ...stream, log: { ...stream.log, lines } }
  return <LogView label={`Log of the ${phase}`} stream={shown} search="" />
}
