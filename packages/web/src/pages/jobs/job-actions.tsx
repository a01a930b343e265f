import type { Job } from '@reeve/contract'
import { Suspense, useState } from 'react'
import { isParameterized, jobCan } from '../../actions/job-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { lazyPart } from '../../parts/lazy-part.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { startJob } from './start-job.ts'

const DispatchForm = lazyPart(async () => (await import('./dispatch-form.tsx')).DispatchForm)

/** What may be done with the whole job. */
export function JobActions({ job }: { readonly job: Job }) {
  const { rights } = useSession()
  const [isDispatching, setDispatching] = useState(false)
  const does = useJobDeeds(job)
  return (
    <>
      {isParameterized(job) && (
        <ActionButton
          kind="primary"
          refusal={jobCan.dispatch(job, rights)}
          onAct={() => setDispatching(true)}
        >
          Dispatch…
        </ActionButton>
      )}
      {job.Periodic !== null && (
        <ActionButton refusal={jobCan.forcePeriodic(job, rights)} onAct={does.force}>
          Launch now
        </ActionButton>
      )}
      <ActionButton refusal={jobCan.evaluate(job, rights)} onAct={does.evaluate}>
        Evaluate
      </ActionButton>
      {job.Stop ? (
        <>
          <ActionButton kind="primary" refusal={jobCan.start(job, rights)} onAct={does.start}>
            Start
          </ActionButton>
          <ActionButton kind="danger" refusal={jobCan.purge(job, rights)} onAct={does.purge}>
            Purge…
          </ActionButton>
        </>
      ) : (
        <ActionButton kind="danger" refusal={jobCan.stop(job, rights)} onAct={does.stop}>
          Stop…
        </ActionButton>
      )}
      {isDispatching && (
        <Suspense>
          <DispatchForm job={job} onClose={() => setDispatching(false)} />
        </Suspense>
      )}
    </>
  )
}

function useJobDeeds(job: Job) {
  const act = useAct()
  const confirm = useConfirm()
  const params = { job_id: job.ID }
  const query = { namespace: job.Namespace }
  return {
    force: async () => {
      await act({
        call: (api) => api.v1.forcePeriodicJob({ params, query }),
        done: 'An instance was launched.',
      })
    },
    evaluate: async () => {
      await act({
        call: (api) => api.v1.evaluateJob({ params, query, body: { JobID: job.ID } }),
        done: 'The scheduler looks at the job again.',
      })
    },
    start: async () => {
      await act({
        call: (api) => startJob(api, job),
        done: 'The job starts.',
      })
    },
    stop: async () => {
      const title = `Stop ${job.Name}?`
      const body = 'All its allocations are stopped. It can be started again.'
      if (!(await confirm({ title, body, action: 'Stop the job', isDangerous: true }))) return
      await act({ call: (api) => api.v1.stopJob({ params, query }), done: 'The job stops.' })
    },
    purge: async () => {
      const title = `Purge ${job.Name}?`
      const body = 'The job and its versions are removed. This cannot be taken back.'
      if (!(await confirm({ title, body, action: 'Purge the job', isDangerous: true }))) return
      const done = await act({
        call: (api) => api.v1.stopJob({ params, query: { ...query, purge: true } }),
        done: 'The job is gone.',
      })
      if (done !== undefined) navigate(paths.jobs({ namespace: job.Namespace }))
    },
  }
}
