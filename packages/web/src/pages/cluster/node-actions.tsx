import type { Node } from '@reeve/contract'
import { useState } from 'react'
import { nodeCan } from '../../actions/node-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { DrainForm } from './drain-form.tsx'

/** What may be done with the node. */
export function NodeActions({ node }: { readonly node: Node }) {
  const { rights } = useSession()
  const [isDraining, setDraining] = useState(false)
  const does = useNodeDeeds(node)
  const isEligible = node.SchedulingEligibility === 'eligible'
  return (
    <>
      <ActionButton
        refusal={nodeCan.changeEligibility(node, rights)}
        onAct={() => does.setEligibility(isEligible ? 'ineligible' : 'eligible')}
      >
        {isEligible ? 'Take no more work' : 'Take work again'}
      </ActionButton>
      {node.Drain && (
        <ActionButton refusal={nodeCan.endDrain(node, rights)} onAct={does.endDrain}>
          End the drain
        </ActionButton>
      )}
      <ActionButton
        kind="danger"
        refusal={nodeCan.drain(node, rights)}
        onAct={() => setDraining(true)}
      >
        {node.Drain ? 'Change the drain…' : 'Drain…'}
      </ActionButton>
      {node.Status === 'down' && (
        <ActionButton kind="danger" refusal={nodeCan.purge(node, rights)} onAct={does.purge}>
          Forget…
        </ActionButton>
      )}
      {isDraining && <DrainForm node={node} onClose={() => setDraining(false)} />}
    </>
  )
}

function useNodeDeeds({ ID, Name }: Node) {
  const act = useAct()
  const confirm = useConfirm()
  const params = { node_id: ID }
  return {
    setEligibility: async (Eligibility: 'eligible' | 'ineligible') => {
      await act({
        call: (api) => api.v1.setNodeEligibility({ params, body: { Eligibility } }),
        done:
          Eligibility === 'eligible'
            ? 'The node takes work again.'
            : 'The node keeps what it has and takes no more.',
      })
    },
    endDrain: async () => {
      await act({
        call: (api) => api.v1.drainNode({ params, body: { DrainSpec: null, MarkEligible: true } }),
        done: 'The drain has ended: the node takes work again.',
      })
    },
    purge: async () => {
      const title = `Forget ${Name}?`
      const body = 'Its jobs are placed elsewhere. The agent may register again if it comes back.'
      if (!(await confirm({ title, body, action: 'Forget the node', isDangerous: true }))) return
      const done = await act({
        call: (api) => api.v1.purgeNode({ params }),
        done: 'The node is forgotten.',
      })
      if (done !== undefined) navigate(paths.nodes())
    },
  }
}
