import { SCHEDULER_ALGORITHMS, type NodePool } from '@reeve/contract'
import { useState } from 'react'
import { createPoolDisabledReason, nodePoolDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { ChoiceField, FormDialog, TextField } from '../../components/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'

interface NodePoolFormProps {
  /** The edited node pool; undefined to create one. */
  readonly pool: NodePool | undefined
  readonly onClose: () => void
}

const REGION_DEFAULT = ''

/** The dialog to create or edit a node pool. */
export function NodePoolForm({ pool, onClose }: NodePoolFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [name, setName] = useState(pool?.Name ?? '')
  const [description, setDescription] = useState(pool?.Description ?? '')
  const current = pool?.SchedulerConfiguration ?? null
  const [algorithm, setAlgorithm] = useState(current?.SchedulerAlgorithm ?? REGION_DEFAULT)
  const disabledReason =
    (pool === undefined ? createPoolDisabledReason(permissions) : undefined) ??
    (name.trim() === '' ? 'Enter a name.' : nodePoolDisabledReason.write(name.trim(), permissions))
  const save = async () => {
    const configuration = {
      MemoryOversubscriptionEnabled: null,
      ...current,
      SchedulerAlgorithm: algorithm,
    }
    const hasOverrides =
      algorithm !== REGION_DEFAULT || configuration.MemoryOversubscriptionEnabled !== null
    const body = {
      ...pool,
      Name: name.trim(),
      Description: description,
      SchedulerConfiguration: hasOverrides ? configuration : null,
    }
    const result = await callApi({
      call: async (api) => {
        await api.v1.writeNodePool({ body })
        return true
      },
      successMessage: `The node pool ${body.Name} is saved.`,
    })
    if (result !== undefined && pool === undefined) navigate(paths.nodePool(body.Name))
    return result !== undefined
  }
  return (
    <FormDialog
      title={pool === undefined ? 'New node pool' : `Edit ${pool.Name}`}
      action="Save"
      disabledReason={disabledReason}
      onSubmit={save}
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
        label="Scheduler algorithm"
        value={algorithm}
        onChange={setAlgorithm}
        choices={[REGION_DEFAULT, ...SCHEDULER_ALGORITHMS]}
        textOf={(one) => (one === REGION_DEFAULT ? 'region default' : one)}
      />
    </FormDialog>
  )
}
