import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { selectorText } from './scope-text.ts'

interface SelectorsPanelProps {
  readonly set: v2.PolicySet
  readonly refusal: Verdict
}

/** Workspaces by their tags, inherited ones included. */
export function SelectorsPanel({ set, refusal }: SelectorsPanelProps) {
  const act = useAct()
  const params = { policy_set_id: set.id }
  const selectors = set.attributes['tag-selectors']
  const remove = async (selector: v2.TagSelector) => {
    if (refusal !== undefined) return
    await act({
      call: (api) => api.v2.removePolicySetTagSelectors({ params, body: { data: [selector] } }),
      done: 'The tag selector is removed.',
    })
  }
  return (
    <Panel title="By tags">
      <div className="stack">
        {selectors.length === 0 ? (
          <p className="quiet">No tag selects workspaces.</p>
        ) : (
          <ul className="members">
            {selectors.map((selector) => (
              <li key={selectorText(selector)}>
                <span>{selectorText(selector)}</span>
                <button
                  type="button"
                  className="icon-button"
                  aria-disabled={refusal !== undefined}
                  title={refusal}
                  onClick={() => void remove(selector)}
                >
                  <Icon name="close" label={`Remove ${selectorText(selector)}`} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <NewSelector set={set} refusal={refusal} />
      </div>
    </Panel>
  )
}

function NewSelector({ set, refusal }: SelectorsPanelProps) {
  const act = useAct()
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const [isExcluded, setExcluded] = useState(false)
  const add = async () => {
    const selector = {
      'tag-key': key,
      'tag-value': value === '' ? null : value,
      'is-exclude': isExcluded,
    }
    const done = await act({
      call: async (api) => {
        await api.v2.addPolicySetTagSelectors({
          params: { policy_set_id: set.id },
          body: { data: [selector] },
        })
        return true
      },
      done: 'The tag selector is added.',
    })
    if (done === undefined) return
    setKey('')
    setValue('')
  }
  return (
    <form className="row tag-row" onSubmit={(event) => event.preventDefault()}>
      <select
        aria-label="Whether the tag selects or excludes"
        value={isExcluded ? 'not' : 'with'}
        disabled={refusal !== undefined}
        onChange={({ target }) => setExcluded(target.value === 'not')}
      >
        <option value="with">with</option>
        <option value="not">without</option>
      </select>
      <input
        aria-label="Key of the tag"
        placeholder="key"
        value={key}
        disabled={refusal !== undefined}
        onChange={(event) => setKey(event.target.value)}
      />
      <input
        aria-label="Value of the tag"
        placeholder="any value"
        value={value}
        disabled={refusal !== undefined}
        onChange={(event) => setValue(event.target.value)}
      />
      <ActionButton
        refusal={refusal ?? (key === '' ? 'Fill in the key.' : undefined)}
        onAct={add}
        isSubmit
      >
        Add
      </ActionButton>
    </form>
  )
}
