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
        {isEligible ? 'Mark ineligible' : 'Mark eligible'}
      </ActionButton>
      {node.Drain && (
        <ActionButton refusal={nodeCan.endDrain(node, rights)} onAct={does.endDrain}>
          Stop draining
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
            ? 'The node is eligible.'
            : 'The node is ineligible: it keeps its allocations and accepts no new ones.',
      })
    },
    endDrain: async () => {
      await act({
        call: (api) => api.v1.drainNode({ params, body: { DrainSpec: null, MarkEligible: true } }),
        done: 'The drain is stopped and the node is eligible.',
      })
    },
    purge: async () => {
      const title = `Purge ${Name}?`
      const body = 'Its allocations are rescheduled. The agent may register again when it returns.'
      if (!(await confirm({ title, body, action: 'Purge the node', isDangerous: true }))) return
      const done = await act({
        call: (api) => api.v1.purgeNode({ params }),
        done: 'The node is purged.',
      })
      if (done !== undefined) navigate(paths.nodes())
    },
  }
}
