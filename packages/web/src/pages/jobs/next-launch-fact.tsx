import type { Job } from '@reeve/contract'
import { useEffect, useEffectEvent } from 'react'
import { jobDisabledReason } from '../../actions/job-can.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { dateFromText } from '../../parts/time.ts'
import { useSession } from '../../session/session.tsx'
import { launchStaleMs, launchText, whyNotLaunched } from './next-launch.ts'

/**
 * The next launch of a periodic job. It comes from a plan of the unchanged job, because only the
 * server evaluates schedules and time zones.
 */
export function NextLaunchTime({ job }: { readonly job: Job }) {
  const { permissions } = useSession()
  const { ID, Namespace: namespace, JobModifyIndex } = job
  const noLaunchReason = whyNotLaunched(job) ?? jobDisabledReason.plan(job, permissions)
  const plan = useApiQuery(
    ['job-next-launch', namespace, ID, JobModifyIndex],
    async (api, signal) => {
      const params = { job_id: ID }
      const { data } = await api.v1.planJob({
        params,
        query: { namespace },
        body: { Job: job },
        signal,
      })
      const launch = dateFromText(data.NextPeriodicLaunch)
      return { data: { launch, keptMs: launchStaleMs(launch, Date.now()) } }
    },
    { enabled: noLaunchReason === undefined },
  )
  const refetchPlan = useEffectEvent(() => void plan.refetch())
  useEffect(() => {
    if (plan.data === undefined) return undefined
    const timer = setTimeout(() => refetchPlan(), plan.data.keptMs)
    return () => clearTimeout(timer)
  }, [plan.data])
  if (noLaunchReason !== undefined) return noLaunchReason
  return plan.data === undefined ? '–' : launchText(plan.data.launch, Date.now())
}
