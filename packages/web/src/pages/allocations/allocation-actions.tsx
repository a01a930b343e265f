import type { Allocation } from '@reeve/contract'
import { useState } from 'react'
import { allocationDisabledReason } from '../../actions/allocation-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { useSession } from '../../session/session.tsx'
import { SignalForm } from './signal-form.tsx'

/** Buttons to signal, restart and stop the allocation. */
export function AllocationActions({ allocation }: { readonly allocation: Allocation }) {
  const { permissions } = useSession()
  const [isSignaling, setSignaling] = useState(false)
  const actions = useAllocationActions(allocation)
  return (
    <>
      <ActionButton
        disabledReason={allocationDisabledReason.signal(allocation, permissions)}
        onAction={() => setSignaling(true)}
      >
        Signal…
      </ActionButton>
      <ActionButton
        disabledReason={allocationDisabledReason.restart(allocation, permissions)}
        onAction={actions.restart}
      >
        Restart…
      </ActionButton>
      <ActionButton
        kind="danger"
        disabledReason={allocationDisabledReason.stop(allocation, permissions)}
        onAction={actions.stop}
      >
        Stop…
      </ActionButton>
      {isSignaling && <SignalForm allocation={allocation} onClose={() => setSignaling(false)} />}
    </>
  )
}

function useAllocationActions({ ID, Name, Namespace: namespace }: Allocation) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { alloc_id: ID }
  const query = { namespace }
  return {
    restart: async () => {
      const title = `Restart ${Name}?`
      const body = 'Its running tasks are restarted on the same node.'
      if (!(await confirm({ title, body, action: 'Restart the tasks' }))) return
      await callApi({
        call: (api) => api.v1.restartAllocation({ params, query, body: {} }),
        successMessage: 'The tasks are restarting.',
      })
    },
    stop: async () => {
      const title = `Stop ${Name}?`
      const body = 'The scheduler places a replacement, possibly on another node.'
      const action = 'Stop the allocation'
      if (!(await confirm({ title, body, action, isDangerous: true }))) return
      await callApi({
        call: (api) => api.v1.stopAllocation({ params, query }),
        successMessage: 'The allocation is stopping and will be replaced.',
      })
    },
  }
}
