import { StreamLanguage } from '@codemirror/language'

const REGO_KEYWORDS = /^(?:as|contains|default|else|every|if|import|in|not|package|some|with)\b/

/** Highlighting of policies of kind `opa`. The server reports errors. */
export const regoLanguage = StreamLanguage.define<{ inRawString: boolean }>({
  name: 'rego',
  startState: () => ({ inRawString: false }),
  token: (stream, state) => {
    if (state.inRawString || stream.match('`')) {
      state.inRawString = !stream.match(/^[^`]*`/)
      if (state.inRawString) stream.skipToEnd()
      return 'string'
    }
    if (stream.eatSpace()) return null
    if (stream.match(/^#.*/)) return 'comment'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
    if (stream.match(REGO_KEYWORDS)) return 'keyword'
    if (stream.match(/^(?:input|data)\b/)) return 'typeName'
    if (stream.match(/^[A-Za-z_][\w.]*(?=\()/)) return 'variableName.function'
    if (stream.match(/^[A-Za-z_]\w*(?=\s*(?::=|contains\b|if\b))/)) return 'propertyName'
    if (stream.match(/^[A-Za-z_]\w*/)) return 'variableName'
    stream.next()
    return 'operator'
  },
  languageData: { commentTokens: { line: '#' } },
})
