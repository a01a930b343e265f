import { v2 } from '@reeve/contract'
import { CheckField, ChoiceField } from '../../parts/form.tsx'
import { wordsOf } from './team-words.ts'

/** The rights of a `custom` access by name: yes or no, or one of a few words. */
type Values = Readonly<Record<string, string | boolean>>

interface AccessValuesProps<V extends Values> {
  readonly title: string
  readonly values: V
  readonly onChange: (values: V) => void
}

const CHOICES: Readonly<Record<string, readonly string[]>> = v2.ACCESS_VALUES

/** Each right of an access as a field of its own. */
export function AccessValues<V extends Values>(props: AccessValuesProps<V>) {
  const { title, values, onChange } = props
  return (
    <fieldset className="rights">
      <legend>{title}</legend>
      {Object.entries(values).map(([name, value]) =>
        typeof value === 'boolean' ? (
          <CheckField
            key={name}
            label={wordsOf(name)}
            value={value}
            onChange={(next) => onChange({ ...values, [name]: next })}
          />
        ) : (
          <ChoiceField<string>
            key={name}
            label={wordsOf(name)}
            value={value}
            choices={CHOICES[name] ?? [value]}
            onChange={(next) => onChange({ ...values, [name]: next })}
          />
        ),
      )}
    </fieldset>
  )
}
