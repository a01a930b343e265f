import type { v2 } from '@reeve/contract'
import { followRunLog, formatLogLine } from '@reeve/sdk'
import { useState } from 'react'
import { useApiQuery } from '../../data/use-read.ts'
import { useTextStream } from '../../data/use-text-stream.ts'
import { LogView } from '../../parts/log-view.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'

type Phase = v2.RunPhaseName

/** The live logs of both phases of a run. */
export function RunLogsPanel({ run }: { readonly run: v2.Run }) {
  const hasApply = run.attributes['status-timestamps']['apply-queued-at'] !== undefined
  const [selectedPhase, setSelectedPhase] = useState<Phase>()
  const phase = selectedPhase ?? (hasApply ? 'apply' : 'plan')
  const url = useApiQuery(['run-log', run.id, phase], async (api, signal) => {
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
  // An uploaded plan was created elsewhere and has no log here.
  if (run.relationships.apply.data === null) return null
  return (
    <Panel
      title={phase === 'plan' ? 'Log of the plan' : 'Log of the apply'}
      actions={
        hasApply && (
          <button
            type="button"
            className="button"
            onClick={() => setSelectedPhase(phase === 'plan' ? 'apply' : 'plan')}
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
  const lines = stream.log.lines.flatMap((line) => formatLogLine(line).split('\n'))
  const displayed = { ...stream, log: { ...stream.log, lines } }
  return <LogView label={`Log of the ${phase}`} stream={displayed} search="" />
}
