import type { Job } from '@reeve/contract'
import { useState } from 'react'
import { jobCan } from '../../actions/job-can.ts'
import { useAct } from '../../data/use-act.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'

const PAYLOAD_BYTES_MAX = 16_384

interface DispatchFormProps {
  readonly job: Job
  readonly onClose: () => void
}

/** An instance of a parameterized job, with what its definition asks for. */
export function DispatchForm({ job, onClose }: DispatchFormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [meta, setMeta] = useState<Readonly<Record<string, string>>>({})
  const [payload, setPayload] = useState('')
  const config = job.ParameterizedJob
  const required = config?.MetaRequired ?? []
  const optional = config?.MetaOptional ?? []
  const missing = required.filter((key) => (meta[key] ?? '') === '')
  const bytes = new TextEncoder().encode(payload)
  const refusal = jobCan.dispatch(job, rights) ?? whyNot(config, { missing, size: bytes.length })
  const dispatch = async () => {
    const given = Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== ''))
    const done = await act({
      call: (api) =>
        api.v1.dispatchJob({
          params: { job_id: job.ID },
          query: { namespace: job.Namespace },
          body: { Meta: given, Payload: payload === '' ? null : base64Of(bytes) },
        }),
      done: ({ data }) => `${data.DispatchedJobID} was dispatched.`,
    })
    if (done !== undefined)
      navigate(paths.job({ namespace: job.Namespace, id: done.data.DispatchedJobID }))
    return done !== undefined
  }
  return (
    <FormDialog
      title={`Dispatch ${job.Name}`}
      action="Dispatch"
      refusal={refusal}
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

interface Given {
  readonly missing: readonly string[]
  readonly size: number
}

/** What the definition asks for. */
function whyNot(config: Job['ParameterizedJob'], { missing, size }: Given): string | undefined {
  if (missing.length > 0) return `Fill in ${missing.join(', ')}.`
  if (config?.Payload === 'required' && size === 0) return 'A payload is required.'
  return size > PAYLOAD_BYTES_MAX ? 'The payload is longer than 16 KiB.' : undefined
}

function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
