import type { Job } from '@reeve/contract'
import { Suspense, useState } from 'react'
import { isParameterized, jobDisabledReason } from '../../actions/job-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { lazyComponent } from '../../parts/lazy-part.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { startJob } from './start-job.ts'

const DispatchForm = lazyComponent(async () => (await import('./dispatch-form.tsx')).DispatchForm)

/** Buttons to dispatch, launch, evaluate, start, stop and purge the job. */
export function JobActions({ job }: { readonly job: Job }) {
  const { permissions } = useSession()
  const [isDispatching, setDispatching] = useState(false)
  const actions = useJobActions(job)
  return (
    <>
      {isParameterized(job) && (
        <ActionButton
          kind="primary"
          disabledReason={jobDisabledReason.dispatch(job, permissions)}
          onAction={() => setDispatching(true)}
        >
          Dispatch…
        </ActionButton>
      )}
      {job.Periodic !== null && (
        <ActionButton
          disabledReason={jobDisabledReason.forcePeriodic(job, permissions)}
          onAction={actions.force}
        >
          Launch now
        </ActionButton>
      )}
      <ActionButton
        disabledReason={jobDisabledReason.evaluate(job, permissions)}
        onAction={actions.evaluate}
      >
        Evaluate
      </ActionButton>
      {job.Stop ? (
        <>
          <ActionButton
            kind="primary"
            disabledReason={jobDisabledReason.start(job, permissions)}
            onAction={actions.start}
          >
            Start
          </ActionButton>
          <ActionButton
            kind="danger"
            disabledReason={jobDisabledReason.purge(job, permissions)}
            onAction={actions.purge}
          >
            Purge…
          </ActionButton>
        </>
      ) : (
        <ActionButton
          kind="danger"
          disabledReason={jobDisabledReason.stop(job, permissions)}
          onAction={actions.stop}
        >
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

function useJobActions(job: Job) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { job_id: job.ID }
  const query = { namespace: job.Namespace }
  return {
    force: async () => {
      await callApi({
        call: (api) => api.v1.forcePeriodicJob({ params, query }),
        successMessage: 'An instance was launched.',
      })
    },
    evaluate: async () => {
      await callApi({
        call: (api) => api.v1.evaluateJob({ params, query, body: { JobID: job.ID } }),
        successMessage: 'Evaluation created.',
      })
    },
    start: async () => {
      await callApi({
        call: (api) => startJob(api, job),
        successMessage: 'The job is starting.',
      })
    },
    stop: async () => {
      const title = `Stop ${job.Name}?`
      const body = 'All its allocations are stopped. It can be started again.'
      if (!(await confirm({ title, body, action: 'Stop the job', isDangerous: true }))) return
      await callApi({
        call: (api) => api.v1.stopJob({ params, query }),
        successMessage: 'The job is stopping.',
      })
    },
    purge: async () => {
      const title = `Purge ${job.Name}?`
      const body = 'The job and its versions are deleted. This cannot be undone.'
      if (!(await confirm({ title, body, action: 'Purge the job', isDangerous: true }))) return
      const result = await callApi({
        call: (api) => api.v1.stopJob({ params, query: { ...query, purge: true } }),
        successMessage: 'The job is purged.',
      })
      if (result !== undefined) navigate(paths.jobs({ namespace: job.Namespace }))
    },
  }
}
