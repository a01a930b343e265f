import type { Node } from '@reeve/contract'
import { useState } from 'react'
import { nodeDisabledReason } from '../../actions/node-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'

interface DrainFormProps {
  readonly node: Node
  readonly onClose: () => void
}

const NS_PER_MINUTE = 60e9

/** Deadlines of a drain: 0 means none, a negative value stops all allocations at once. */
const DEADLINES = [
  { id: 'now', text: 'Force: stop all allocations at once', ns: -1 },
  { id: '10m', text: '10 minutes', ns: 10 * NS_PER_MINUTE },
  { id: '1h', text: '1 hour', ns: 60 * NS_PER_MINUTE },
  { id: '6h', text: '6 hours', ns: 360 * NS_PER_MINUTE },
  { id: 'none', text: 'No deadline', ns: 0 },
] as const

/** The dialog to drain a node. */
export function DrainForm({ node, onClose }: DrainFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [deadline, setDeadline] = useState('1h')
  const [ignoreSystemJobs, setIgnoreSystemJobs] = useState(false)
  const drain = async () => {
    const Deadline = DEADLINES.find(({ id }) => id === deadline)?.ns ?? 0
    const result = await callApi({
      call: (api) =>
        api.v1.drainNode({
          params: { node_id: node.ID },
          body: { DrainSpec: { Deadline, IgnoreSystemJobs: ignoreSystemJobs } },
        }),
      successMessage: 'The node is draining.',
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={`Drain ${node.Name}`}
      action="Drain the node"
      kind="danger"
      disabledReason={nodeDisabledReason.drain(node, permissions)}
      onSubmit={drain}
      onClose={onClose}
    >
      <p>
        The node becomes ineligible and its allocations migrate to other nodes. How many at a time
        is set in the <code>migrate</code> block of their jobs.
      </p>
      <Field label="Deadline" hint="Remaining allocations are stopped then.">
        {(attributes) => (
          <select
            {...attributes}
            value={deadline}
            onChange={(event) => setDeadline(event.target.value)}
          >
            {DEADLINES.map(({ id, text }) => (
              <option key={id} value={id}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      <label className="check">
        <input
          type="checkbox"
          checked={ignoreSystemJobs}
          onChange={(event) => setIgnoreSystemJobs(event.target.checked)}
        />
        Keep system jobs running
      </label>
    </FormDialog>
  )
}
