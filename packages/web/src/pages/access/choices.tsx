import '../../style/cluster.css'

interface Option {
  readonly id: string
  readonly text: string
}

interface ChoicesProps {
  readonly label: string
  /** Said where there is nothing to choose from. */
  readonly none: string
  readonly options: readonly Option[]
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

/** Any number of a few things. What is chosen stays, also when it is not known any more. */
export function Choices({ label, none, options, chosen, onChange }: ChoicesProps) {
  const known = new Set(options.map(({ id }) => id))
  const gone = chosen.filter((id) => !known.has(id)).map((id) => ({ id, text: id }))
  const all = [...options, ...gone]
  const toggle = (id: string) =>
    onChange(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id])
  return (
    <fieldset className="choices">
      <legend>{label}</legend>
      {all.length === 0 && <small>{none}</small>}
      {all.map(({ id, text }) => (
        <label key={id} className="check">
          <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
          {text}
        </label>
      ))}
    </fieldset>
  )
}
