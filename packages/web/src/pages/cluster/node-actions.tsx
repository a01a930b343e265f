import type { Node } from '@reeve/contract'
import { useState } from 'react'
import { nodeDisabledReason } from '../../actions/node-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { DrainForm } from './drain-form.tsx'

/** Buttons to drain a node, change its eligibility and purge it. */
export function NodeActions({ node }: { readonly node: Node }) {
  const { permissions } = useSession()
  const [isDraining, setDraining] = useState(false)
  const actions = useNodeActions(node)
  const isEligible = node.SchedulingEligibility === 'eligible'
  return (
    <>
      <ActionButton
        disabledReason={nodeDisabledReason.changeEligibility(node, permissions)}
        onAction={() => actions.setEligibility(isEligible ? 'ineligible' : 'eligible')}
      >
        {isEligible ? 'Mark ineligible' : 'Mark eligible'}
      </ActionButton>
      {node.Drain && (
        <ActionButton
          disabledReason={nodeDisabledReason.endDrain(node, permissions)}
          onAction={actions.endDrain}
        >
          Stop draining
        </ActionButton>
      )}
      <ActionButton
        kind="danger"
        disabledReason={nodeDisabledReason.drain(node, permissions)}
        onAction={() => setDraining(true)}
      >
        {node.Drain ? 'Change the drain…' : 'Drain…'}
      </ActionButton>
      {node.Status === 'down' && (
        <ActionButton
          kind="danger"
          disabledReason={nodeDisabledReason.purge(node, permissions)}
          onAction={actions.purge}
        >
          Purge…
        </ActionButton>
      )}
      {isDraining && <DrainForm node={node} onClose={() => setDraining(false)} />}
    </>
  )
}

function useNodeActions({ ID, Name }: Node) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { node_id: ID }
  return {
    setEligibility: async (Eligibility: 'eligible' | 'ineligible') => {
      await callApi({
        call: (api) => api.v1.setNodeEligibility({ params, body: { Eligibility } }),
        successMessage:
          Eligibility === 'eligible'
            ? 'The node is eligible.'
            : 'The node is ineligible: it keeps its allocations and accepts no new ones.',
      })
    },
    endDrain: async () => {
      await callApi({
        call: (api) => api.v1.drainNode({ params, body: { DrainSpec: null, MarkEligible: true } }),
        successMessage: 'The drain is stopped and the node is eligible.',
      })
    },
    purge: async () => {
      const title = `Purge ${Name}?`
      const body = 'Its allocations are rescheduled. The agent may register again when it returns.'
      if (!(await confirm({ title, body, action: 'Purge the node', isDangerous: true }))) return
      const result = await callApi({
        call: (api) => api.v1.purgeNode({ params }),
        successMessage: 'The node is purged.',
      })
      if (result !== undefined) navigate(paths.nodes())
    },
  }
}
