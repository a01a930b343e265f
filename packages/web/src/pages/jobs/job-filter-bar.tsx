import { JOB_STATUSES, JOB_TYPES } from '@reeve/contract'
import { useEffect, useState } from 'react'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { JobFilter } from './job-filter.ts'

/** Pause in typing after which the filter is applied. */
const TYPING_PAUSE_MS = 200

export function JobFilterBar({ filter }: { readonly filter: JobFilter }) {
  const [text, setText] = useState(filter.text)
  useEffect(() => {
    const timer = setTimeout(
      () => navigate(hrefWith({ q: text }), { replace: true }),
      TYPING_PAUSE_MS,
    )
    return () => clearTimeout(timer)
  }, [text])
  return (
    <search className="filters">
      <input
        type="search"
        aria-label="Search jobs by ID or filter expression"
        placeholder="Part of an ID, or a filter expression"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Choice
        name="status"
        label="Status"
        value={filter.status}
        options={[...JOB_STATUSES, 'stopped']}
      />
      <Choice name="type" label="Type" value={filter.type} options={JOB_TYPES} />
      <select
        aria-label="Order"
        value={filter.order}
        onChange={({ target }) =>
          navigate(hrefWith({ order: target.value === 'oldest' ? 'oldest' : undefined }))
        }
      >
        <option value="newest">Newest change first</option>
        <option value="oldest">Oldest change first</option>
      </select>
    </search>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
}

function Choice({ name, label, value, options }: ChoiceProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => navigate(hrefWith({ [name]: event.target.value }))}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  )
}
