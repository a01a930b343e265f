import type { Allocation } from '@reeve/contract'
import { useState } from 'react'
import { allocationCan } from '../../actions/allocation-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { useSession } from '../../session/session.tsx'
import { SignalForm } from './signal-form.tsx'

/** What may be done with the whole allocation. */
export function AllocationActions({ allocation }: { readonly allocation: Allocation }) {
  const { rights } = useSession()
  const [isSignaling, setSignaling] = useState(false)
  const does = useAllocationDeeds(allocation)
  return (
    <>
      <ActionButton
        refusal={allocationCan.signal(allocation, rights)}
        onAct={() => setSignaling(true)}
      >
        Signal…
      </ActionButton>
      <ActionButton refusal={allocationCan.restart(allocation, rights)} onAct={does.restart}>
        Restart…
      </ActionButton>
      <ActionButton
        kind="danger"
        refusal={allocationCan.stop(allocation, rights)}
        onAct={does.stop}
      >
        Stop…
      </ActionButton>
      {isSignaling && <SignalForm allocation={allocation} onClose={() => setSignaling(false)} />}
    </>
  )
}

function useAllocationDeeds({ ID, Name, Namespace: namespace }: Allocation) {
  const act = useAct()
  const confirm = useConfirm()
  const params = { alloc_id: ID }
  const query = { namespace }
  return {
    restart: async () => {
      const title = `Restart ${Name}?`
      const body = 'Its running tasks are restarted on the same node.'
      if (!(await confirm({ title, body, action: 'Restart the tasks' }))) return
      await act({
        call: (api) => api.v1.restartAllocation({ params, query, body: {} }),
        done: 'The tasks are restarting.',
      })
    },
    stop: async () => {
      const title = `Stop ${Name}?`
      const body = 'The scheduler places a replacement, possibly on another node.'
      const action = 'Stop the allocation'
      if (!(await confirm({ title, body, action, isDangerous: true }))) return
      await act({
        call: (api) => api.v1.stopAllocation({ params, query }),
        done: 'The allocation is stopping and will be replaced.',
      })
    },
  }
}
