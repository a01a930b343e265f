import type { Job } from '@reeve/contract'
import { useState } from 'react'
import { jobDisabledReason } from '../../permissions/job.ts'
import { useApiAction } from '../../data/api-action.ts'
import { Field, FormDialog } from '../../components/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'

const PAYLOAD_BYTES_MAX = 16_384

interface DispatchFormProps {
  readonly job: Job
  readonly onClose: () => void
}

/** The dialog to dispatch a parameterized job with metadata and payload. */
export function DispatchForm({ job, onClose }: DispatchFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [meta, setMeta] = useState<Readonly<Record<string, string>>>({})
  const [payload, setPayload] = useState('')
  const config = job.ParameterizedJob
  const required = config?.MetaRequired ?? []
  const optional = config?.MetaOptional ?? []
  const missing = required.filter((key) => (meta[key] ?? '') === '')
  const bytes = new TextEncoder().encode(payload)
  const disabledReason =
    jobDisabledReason.dispatch(job, permissions) ??
    inputError(config, { missing, size: bytes.length })
  const dispatch = async () => {
    const enteredMeta = Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== ''))
    const result = await callApi({
      call: (api) =>
        api.v1.dispatchJob({
          params: { job_id: job.ID },
          query: { namespace: job.Namespace },
          body: { Meta: enteredMeta, Payload: payload === '' ? null : toBase64(bytes) },
        }),
      successMessage: ({ data }) => `${data.DispatchedJobID} was dispatched.`,
    })
    if (result !== undefined)
      navigate(paths.job({ namespace: job.Namespace, id: result.data.DispatchedJobID }))
    return result !== undefined
  }
  return (
    <FormDialog
      title={`Dispatch ${job.Name}`}
      action="Dispatch"
      disabledReason={disabledReason}
      onSubmit={dispatch}
      onClose={onClose}
    >
      {[...required, ...optional].map((key) => (
        <Field key={key} label={key} isOptional={!required.includes(key)}>
          {(attributes) => (
            <input
              {...attributes}
              required={required.includes(key)}
              value={meta[key] ?? ''}
              onChange={(event) => setMeta({ ...meta, [key]: event.target.value })}
            />
          )}
        </Field>
      ))}
      {config?.Payload !== 'forbidden' && (
        <Field
          label="Payload"
          isOptional={config?.Payload !== 'required'}
          hint={`${bytes.length} of ${PAYLOAD_BYTES_MAX} bytes`}
        >
          {(attributes) => (
            <textarea
              {...attributes}
              rows={5}
              value={payload}
              onChange={(event) => setPayload(event.target.value)}
            />
          )}
        </Field>
      )}
    </FormDialog>
  )
}

interface DispatchInput {
  readonly missing: readonly string[]
  readonly size: number
}

/** Returns which required input is missing or invalid. */
function inputError(
  config: Job['ParameterizedJob'],
  { missing, size }: DispatchInput,
): string | undefined {
  if (missing.length > 0) return `Fill in ${missing.join(', ')}.`
  if (config?.Payload === 'required' && size === 0) return 'A payload is required.'
  return size > PAYLOAD_BYTES_MAX ? 'The payload is longer than 16 KiB.' : undefined
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
