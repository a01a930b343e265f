import { SCHEDULER_ALGORITHMS, type NodePool } from '@reeve/contract'
import { useState } from 'react'
import { mayMakePool, nodePoolCan } from '../../actions/node-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ChoiceField, FormDialog, TextField } from '../../parts/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'

interface NodePoolFormProps {
  /** Undefined makes a new one. */
  readonly pool: NodePool | undefined
  readonly onClose: () => void
}

const OF_REGION = ''

/** A pool, and how jobs are placed in it. */
export function NodePoolForm({ pool, onClose }: NodePoolFormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [name, setName] = useState(pool?.Name ?? '')
  const [description, setDescription] = useState(pool?.Description ?? '')
  const kept = pool?.SchedulerConfiguration ?? null
  const [algorithm, setAlgorithm] = useState(kept?.SchedulerAlgorithm ?? OF_REGION)
  const refusal =
    (pool === undefined ? mayMakePool(rights) : undefined) ??
    (name.trim() === '' ? 'Enter a name.' : nodePoolCan.write(name.trim(), rights))
  const write = async () => {
    const own = { MemoryOversubscriptionEnabled: null, ...kept, SchedulerAlgorithm: algorithm }
    const isOwn = algorithm !== OF_REGION || own.MemoryOversubscriptionEnabled !== null
    const body = {
      ...pool,
      Name: name.trim(),
      Description: description,
      SchedulerConfiguration: isOwn ? own : null,
    }
    const done = await act({
      call: async (api) => {
        await api.v1.writeNodePool({ body })
        return true
      },
      done: `The node pool ${body.Name} is stored.`,
    })
    if (done !== undefined && pool === undefined) navigate(paths.nodePool(body.Name))
    return done !== undefined
  }
  return (
    <FormDialog
      title={pool === undefined ? 'New node pool' : `Edit ${pool.Name}`}
      action="Store"
      refusal={refusal}
      onSubmit={write}
      onClose={onClose}
    >
      {pool === undefined && (
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          hint="Letters, digits, dashes and underscores."
        />
      )}
      <TextField label="Description" isOptional value={description} onChange={setDescription} />
      <ChoiceField<string>
        label="Places by"
        value={algorithm}
        onChange={setAlgorithm}
        choices={[OF_REGION, ...SCHEDULER_ALGORITHMS]}
        textOf={(one) => (one === OF_REGION ? 'the way of the region' : one)}
      />
    </FormDialog>
  )
}
