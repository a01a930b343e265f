import type { Job } from '@reeve/contract'
import { useEffect, useEffectEvent } from 'react'
import { jobCan } from '../../actions/job-can.ts'
import { useRead } from '../../data/use-read.ts'
import { dateOfText } from '../../parts/time.ts'
import { useSession } from '../../session/session.tsx'
import { launchKeptMs, launchText, whyNotLaunched } from './next-launch.ts'

/**
 * When the clock launches the job next. The server knows schedules and time zones, and tells it in
 * the plan of the job as it is: a second reader of schedules could differ from it.
 */
export function NextLaunch({ job }: { readonly job: Job }) {
  const { rights } = useSession()
  const { ID, Namespace: namespace, JobModifyIndex } = job
  const refusal = whyNotLaunched(job) ?? jobCan.plan(job, rights)
  const plan = useRead(
    ['job-next-launch', namespace, ID, JobModifyIndex],
    async (api, signal) => {
      const params = { job_id: ID }
      const { data } = await api.v1.planJob({
        params,
        query: { namespace },
        body: { Job: job },
        signal,
      })
      const launch = dateOfText(data.NextPeriodicLaunch)
      return { data: { launch, keptMs: launchKeptMs(launch, Date.now()) } }
    },
    { enabled: refusal === undefined },
  )
  const askAgain = useEffectEvent(() => void plan.refetch())
  useEffect(() => {
    if (plan.data === undefined) return undefined
    const timer = setTimeout(() => askAgain(), plan.data.keptMs)
    return () => clearTimeout(timer)
  }, [plan.data])
  if (refusal !== undefined) return refusal
  return plan.data === undefined ? '–' : launchText(plan.data.launch, Date.now())
}
